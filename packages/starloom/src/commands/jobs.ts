// The commands about calls that became jobs.

import { setTimeout as delay } from 'node:timers/promises';
import { FabricError, type FabricEvent } from '@starloom/core';
import type { JobDocument } from '@starloom/jobs';
import type { Command } from 'commander';
import { type OpenQuestion, type TypedInputs, toAnswers, toTypedInput } from '../ask/answers.ts';
import { action, type GlobalOptions, toCount } from '../command-line.ts';
import { connectToGateway } from '../gateway-client.ts';
import { GATEWAY_UNREACHABLE, typedFix } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import { paint, table, toOneLine, toSafeJson } from '../terminal-text.ts';

interface JobsListOptions extends GlobalOptions {
  readonly state?: string;
  readonly capability?: string;
  readonly limit?: number;
}

export function define(jobs: Command, terminal: Terminal): void {
  jobs
    .command('list', { isDefault: true })
    .description('list jobs, newest first')
    .option('--state <state>', 'only jobs in this state')
    .option('--capability <name>', 'only jobs of this capability')
    .option('--limit <n>', 'how many at most', toCount)
    .action(action(terminal, () => listJobs));
  for (const [name, tool, description] of [
    ['show', 'fabric.job.status', 'show one job with its result'],
    ['cancel', 'fabric.job.cancel', 'end a job'],
    ['retry', 'fabric.job.retry', 'start a new job with the call of one that is over'],
  ] as const) {
    jobs
      .command(name)
      .description(description)
      .argument('<job>')
      .action(action(terminal, () => actOnJob(tool)));
  }
  jobs
    .command('watch')
    .description('follow a job to its end, also while the gateway restarts')
    .argument('<job>')
    .option('--after <cursor>', 'only events after this one', toCount, 0)
    .action(action(terminal, () => watchJob));
  jobs
    .command('input')
    .description('answer what the agent of a job asks')
    .argument('<job>')
    .argument('<answers...>', '<question>=<text or JSON>, one for each open question')
    .option('--decline', 'refuse to answer: names of questions alone')
    .action(action(terminal, () => answerJob));
}

export async function listJobs(terminal: Terminal, options: JobsListOptions): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { state, capability, limit, json } = options;
  const filter = { state, capability, limit };
  const { jobs, next_cursor } = await client.call('fabric.job.list', filter);
  if (json) return terminal.json({ jobs, next_cursor });
  if (jobs.length === 0) return terminal.tell('no jobs');
  const now = Date.now();
  const rows = jobs.map((job) => [
    job.job_id,
    paintState(job.state),
    callOf(job),
    ageOf(job.created_at, now),
    progressOf(job),
  ]);
  terminal.print(table(['JOB', 'STATE', 'CALL', 'AGE', ''], rows, terminal.columns));
}

function actOnJob(tool: 'fabric.job.status' | 'fabric.job.cancel' | 'fabric.job.retry') {
  return async (terminal: Terminal, job_id: string, { json }: GlobalOptions): Promise<void> => {
    await using client = await connectToGateway(terminal);
    const { job } = await client.call(tool, { job_id });
    showJob(terminal, job, json);
  };
}

async function answerJob(
  terminal: Terminal,
  job_id: string,
  answers: readonly string[],
  { decline, json }: GlobalOptions & { readonly decline?: true },
): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { job: asking } = await client.call('fabric.job.status', { job_id });
  const questions = (asking.inputs ?? []) as readonly object[] as readonly OpenQuestion[];
  const typed = () => answers.reduce<TypedInputs>((all, one) => toTypedInput(one, all), {});
  const inputs = decline
    ? answers.map((id) => ({ id, response: { action: 'decline' } }))
    : toAnswers(typed(), questions);
  const { job } = await client.call('fabric.job.input', { job_id, inputs });
  showJob(terminal, job, json);
}

function showJob(terminal: Terminal, job: JobDocument, json = false): void {
  terminal.print(json ? toSafeJson({ job }) : toPage(job));
}

export function toPage(job: JobDocument, now = Date.now()): string {
  const { job_id, state, attempt, retry_of = '', created_at, updated_at, error, inputs } = job;
  const facts: [string, string][] = [
    ['call', callOf(job)],
    ['created', `${created_at} (${ageOf(created_at, now)} ago)`],
    ['changed', `${updated_at} (${ageOf(updated_at, now)} ago)`],
    ['attempt', attempt > 1 ? String(attempt) : ''],
    ['retry of', retry_of],
    ['progress', error || inputs ? '' : progressOf(job)],
  ];
  const answer = answerOf(job);
  return [
    `${paint('bold', job_id)}  ${paintState(state)}`,
    ...facts.flatMap(([name, value]) => (value === '' ? [] : `  ${name.padEnd(9)} ${value}`)),
    ...failureLines(job).map((line) => `  ${line}`),
    ...(inputs ?? []).map(({ id, message }) => `  asks      ${id}: ${toOneLine(String(message))}`),
    ...(inputs ? [`  fix: answer with "starloom jobs input ${job_id} <question>=<answer>"`] : []),
    ...(answer === undefined ? [] : ['', answer]),
  ].join('\n');
}

function failureLines({ job_id, error }: JobDocument): string[] {
  if (error === undefined) return [];
  const fix = typedFix({ job_id, ...error.details });
  return [
    `${paint('red', `error ${error.code}`)}: ${error.message}`,
    ...(fix === undefined ? [] : [`  fix: ${fix}`]),
  ];
}

function answerOf({ result }: JobDocument): string | undefined {
  const { result: own } = (result ?? {}) as { readonly result?: { readonly answer?: string } };
  return own?.answer;
}

export function progressOf({ state, progress, error, inputs }: JobDocument): string {
  if (error !== undefined) return `${error.code}: ${error.message}`;
  if (inputs !== undefined) return inputs.map(({ id, message }) => `${id}: ${message}`).join('; ');
  const percent = state === 'succeeded' ? 100 : progress?.percent;
  const shown = percent === undefined ? '' : `${Math.round(percent)} %`;
  return [shown, toOneLine(progress?.message ?? '')].filter(Boolean).join(' ');
}

function callOf({ agent_id, capability }: JobDocument): string {
  return [agent_id, capability].filter(Boolean).join('.');
}

function paintState(state: JobDocument['state']): string {
  if (state === 'succeeded') return paint('green', state);
  return state === 'failed' || state === 'cancelled' ? paint('red', state) : paint('yellow', state);
}

const RECONNECT_MS = 250;
/** A connection that carries nothing for so long may be dead: the stream is asked for again. */
const IDLE_MS = 15_000;
const BAR = 24;

/**
 * Follows a job to its end. A person sees a bar and the result; without a terminal, or with --json, the
 * events are lines of JSON and the job is the last one.
 */
async function watchJob(
  terminal: Terminal,
  job_id: string,
  { after, json }: GlobalOptions & { readonly after: number },
) {
  const progress = json || !terminal.isWatched ? undefined : terminal.showStatus;
  let cursor = after;
  const onEvent = (event: FabricEvent, at = cursor + 1) => {
    cursor = at;
    if (progress === undefined) terminal.json({ ...event, cursor });
    else progress(toLine(event));
  };
  const job = await follow(terminal, job_id, () => cursor, onEvent);
  if (progress === undefined) terminal.json({ job });
  else {
    progress('');
    const answer = answerOf(job);
    if (answer !== undefined) terminal.print(answer);
  }
  const end = job.state === 'cancelled' ? 'was cancelled' : job.state;
  terminal.tell([`the job ${end}`, ...failureLines(job)].join('\n  '));
  if (job.error !== undefined) terminal.exitCode = new FabricError(job.error.code, '').row.exit;
}

/** Over any number of connections, as long as the job is known. */
async function follow(
  terminal: Terminal,
  job_id: string,
  cursor: () => number,
  onEvent: (event: FabricEvent, at?: number) => void,
): Promise<JobDocument> {
  let isAway = false;
  for (;;) {
    try {
      await using client = await connectToGateway(terminal);
      isAway = false;
      const options = { onEvent, timeoutMs: IDLE_MS, isIdleTimeout: true };
      const { job } = await client.call('fabric.job.stream', { job_id, after: cursor() }, options);
      return job;
    } catch (error) {
      const isUnreachable = FabricError.is(error) && error.details.reason === GATEWAY_UNREACHABLE;
      if (FabricError.is(error) && !isUnreachable) throw error;
      if (isUnreachable && !isAway) terminal.tell('(the gateway cannot be reached; trying again)');
      isAway = isUnreachable;
      await delay(RECONNECT_MS);
    }
  }
}

function toLine(event: FabricEvent): string {
  if (event.type !== 'progress') {
    return event.type === 'status' ? (event.data.message ?? event.data.state) : event.type;
  }
  const { percent, message = '' } = event.data;
  if (percent === undefined) return message;
  const full = Math.round((percent / 100) * BAR);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${Math.round(percent)} % ${message}`;
}

/** `45 s`, `12 min`, `3 h` or `2 d`: how long ago a moment was. */
export function ageOf(moment: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(moment)) / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 2 * 86_400
    ? `${Math.floor(seconds / 3_600)} h`
    : `${Math.floor(seconds / 86_400)} d`;
}
