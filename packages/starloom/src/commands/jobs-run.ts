import { FabricError } from '@starloom/core';
import type { JobDocument } from '@starloom/jobs';
import { connectToGateway } from '../gateway-client.ts';
import type { GlobalOptions } from '../global-options.ts';
import { paint } from '../paint.ts';
import { toOneLine, toSafeJson } from '../plain-text.ts';
import { typedFix } from '../report-error.ts';
import { table } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { ageOf } from './duration.ts';
import type { JobsInputOptions, JobsListOptions } from './jobs.ts';

export async function listJobs(terminal: Terminal, options: JobsListOptions): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { state, capability, limit, json } = options;
  const { jobs, next_cursor } = await client.call('fabric.job.list', {
    ...(state !== undefined && { state }),
    ...(capability !== undefined && { capability }),
    ...(limit !== undefined && { limit }),
  });
  if (json) return terminal.print(toSafeJson({ jobs, next_cursor }));
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

const TOOLS = {
  show: 'fabric.job.status',
  cancel: 'fabric.job.cancel',
  retry: 'fabric.job.retry',
} as const;

export async function actOnJob(
  terminal: Terminal,
  action: keyof typeof TOOLS,
  job_id: string,
  { json }: GlobalOptions,
): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { job } = await client.call(TOOLS[action], { job_id });
  showJob(terminal, job, json === true);
}

export async function answerJob(
  terminal: Terminal,
  job_id: string,
  answers: readonly string[],
  { decline, json }: JobsInputOptions,
): Promise<void> {
  await using client = await connectToGateway(terminal);
  const inputs = answers.map((answer) =>
    decline ? { id: answer, response: { action: 'decline' } } : toInput(answer),
  );
  const { job } = await client.call('fabric.job.input', { job_id, inputs });
  showJob(terminal, job, json === true);
}

function showJob(terminal: Terminal, job: JobDocument, json: boolean): void {
  terminal.print(json ? toSafeJson({ job }) : toPage(job));
}

/** A job as a person reads it. */
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

/** Why the job did not succeed, and what to do about it. */
export function failureLines({ job_id, error }: JobDocument): string[] {
  if (error === undefined) return [];
  const fix = typedFix({ job_id, ...error.details });
  return [
    `${paint('red', `error ${error.code}`)}: ${error.message}`,
    ...(fix === undefined ? [] : [`  fix: ${fix}`]),
  ];
}

export function answerOf({ result }: JobDocument): string | undefined {
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

/** `id={"choice":"a"}` is taken as it is, `id=words` as the text of an answer. */
function toInput(text: string) {
  const at = text.indexOf('=');
  if (at < 1) {
    throw new FabricError('BAD_INPUT', `"${text}" is no answer`, {
      details: { reason: 'usage', fix: 'Write <question>=<text or JSON>' },
    });
  }
  const value = text.slice(at + 1);
  const content = /^\s*[{[]/.test(value) ? JSON.parse(value) : { text: value };
  return { id: text.slice(0, at), response: { action: 'accept', content } };
}
