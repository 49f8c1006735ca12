import { FabricError } from '@starloom/core';
import type { JobDocument } from '@starloom/jobs';
import { connectToGateway } from '../gateway-client.ts';
import type { GlobalOptions } from '../global-options.ts';
import { toSafeJson } from '../plain-text.ts';
import { table } from '../table.ts';
import type { Terminal } from '../terminal.ts';
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
  const rows = jobs.map((job) => [
    job.job_id,
    job.state,
    [job.agent_id, job.capability].filter(Boolean).join('.'),
    job.created_at,
    progressOf(job),
  ]);
  terminal.print(table(['JOB', 'STATE', 'CALL', 'CREATED', ''], rows));
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

export function showJob(terminal: Terminal, job: JobDocument, json: boolean): void {
  terminal.print(json ? toSafeJson({ job }) : JSON.stringify(job, null, 2));
}

export function progressOf({ progress, error, inputs }: JobDocument): string {
  if (error !== undefined) return `${error.code}: ${error.message}`;
  if (inputs !== undefined) return inputs.map(({ id, message }) => `${id}: ${message}`).join('; ');
  const percent = progress?.percent === undefined ? '' : `${progress.percent} %`;
  return [percent, progress?.message].filter(Boolean).join(' ');
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
