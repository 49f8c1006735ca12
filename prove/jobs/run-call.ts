// How a gateway of the campaign calls the agent: what an adapter and the pipeline do in the product.

import { setTimeout as delay } from 'node:timers/promises';
import { FabricError } from '@starloom/core';
import type { CancelUpstream, JobRunContext, JobRunResult, RunJob } from '@starloom/jobs';
import { readNdjson } from '@starloom/wire';
import type { Kind } from './history.ts';

interface Call {
  readonly kind: Kind;
  readonly agent: string;
}

const AGENT = 'flaky';
const POLL_MS = 40;
const QUESTION = { id: 'q', kind: 'text', message: 'Go on?' };

export const runCall: RunJob = async (call, context) => {
  const { kind, agent } = call as Call;
  switch (kind) {
    case 'plain':
    case 'safe':
      return stream(agent, context);
    case 'parked':
      await context.markSent();
      await context.ask([QUESTION]);
      return stream(agent, context);
    case 'task':
    case 'asking':
      return runTask(agent, kind, context);
  }
};

export const cancelTask: CancelUpstream = async () => {};

async function stream(agent: string, context: JobRunContext): Promise<JobRunResult> {
  await context.markSent();
  const response = await post(`${agent}/call`, { job_id: context.job.id }, context.signal);
  if (!response.ok || response.body === null) throw broken(`status ${response.status}`);
  try {
    for await (const line of readNdjson(response.body, { maxLineBytes: 1 << 20 })) {
      const { token, final } = line as { token?: string; final?: string };
      if (token !== undefined) await context.emit({ type: 'token', data: { text: token } }, AGENT);
      if (final !== undefined) return succeeded(final);
    }
  } catch (error) {
    if (FabricError.is(error)) throw error;
    context.signal.throwIfAborted();
    throw error instanceof Error && error.name === 'TypeError' ? broken(error.message) : error;
  }
  throw broken('the answer broke off');
}

async function runTask(agent: string, kind: Kind, context: JobRunContext): Promise<JobRunResult> {
  const { job, mode, answers, signal } = context;
  await context.markSent();
  let task = String(job.handle?.task ?? '');
  if (mode !== 'rejoin') {
    const response = await post(`${agent}/task`, { job_id: job.id, kind }, signal);
    task = ((await response.json()) as { task: string }).task;
    await context.keepHandle({ task });
  } else if (answers !== undefined) {
    await post(`${agent}/task/${task}/answer`, { content: answers[0]?.id }, signal);
  }
  for (let polls = 1; ; polls += 1) {
    const { state, answer } = await read(`${agent}/task/${task}`, signal);
    if (state === 'done') return succeeded(String(answer));
    if (state === 'asking') {
      return { state: 'awaiting_input', agentId: AGENT, inputs: [QUESTION], handle: { task } };
    }
    const percent = Math.min(99, polls);
    await context.emit({ type: 'progress', data: { percent } }, AGENT);
    await delay(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/** Reading has no effect, so it is repeated until it works. */
async function read(url: string, signal: AbortSignal): Promise<{ state: string; answer?: string }> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return (await (await fetch(url, { signal })).json()) as { state: string; answer?: string };
    } catch {
      await delay(POLL_MS);
    }
  }
}

async function post(url: string, body: object, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, { method: 'POST', body: JSON.stringify(body), signal });
  } catch (error) {
    signal.throwIfAborted();
    throw broken(String(error));
  }
}

function succeeded(answer: string): JobRunResult {
  return { state: 'succeeded', agentId: AGENT, final: { answer }, result: { answer } };
}

function broken(why: string): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The agent broke off', { details: { why } });
}
