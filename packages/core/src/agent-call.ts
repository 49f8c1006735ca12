// What every client of an agent needs, whatever the agent speaks: a call as words and headers, and what
// became of it.

import type { Envelope } from './envelope.ts';
import { CLAIM_LOST, type ErrorDetails, FabricError } from './errors.ts';
import type { Fields } from './json.ts';
import type { CallContext } from './ports/adapter.ts';
import { toHeaders, toMandateHeaders } from './propagation.ts';
import type { StatusMeaning } from './upstream-failure.ts';

/** The input of an agent that is asked in words. */
export const TASK_SCHEMA = {
  type: 'object',
  properties: { task: { type: 'string', description: 'What the agent is asked, in words' } },
  required: ['task'],
};

interface TaskText {
  /** What is asked, in words. */
  readonly text: string;
  /** What else the caller gave: arguments and context. */
  readonly rest: Fields;
}

const OURS = 'io.starloom/';

/** A call as words: the argument `prompt` or `task`, else the task of the call. */
export function readTask({ task, arguments: given = {}, context }: Envelope['input']): TaskText {
  const said = callerContext(context);
  for (const name of ['prompt', 'task']) {
    const { [name]: text, ...others } = given;
    if (typeof text === 'string' && text !== '') return { text, rest: { ...said, ...others } };
  }
  return { text: task, rest: { ...said, ...given } };
}

/** The context without what the gateway put there: that is for programs, and never part of a prompt. */
export function callerContext(context: Fields): Fields {
  return Object.fromEntries(Object.entries(context).filter(([key]) => !key.startsWith(OURS)));
}

/** What every call over HTTP carries: trace, depth and chain, and a mandate for agents that want one. */
export function callHeaders(
  { trace, hop }: Pick<Envelope, 'trace' | 'hop'>,
  context: Pick<CallContext, 'mandate'>,
): Record<string, string> {
  return { ...toHeaders(trace, hop), ...toMandateHeaders(context) };
}

/** Refuses a call that ended before it began, with the reason of its signal. */
export function assertWanted(signal: AbortSignal): void {
  if (signal.aborted) throw FabricError.from(signal.reason);
}

/** The call goes on elsewhere: another worker joins what runs at the agent. */
export function isLeftRunning({ details }: FabricError): boolean {
  return details.reason === CLAIM_LOST;
}

/** For a failure of a later request: that this one was not sent says nothing of the call. */
export function withoutSent(thrown: unknown): FabricError {
  const error = FabricError.from(thrown);
  if (!('sent' in error.details)) return error;
  const { code, message, details, cause, answer } = error;
  const { sent: _, ...rest } = details;
  return new FabricError(code, message, { details: rest, cause, answer });
}

/** What a table of codes says of an error; `upstream` is what the agent wrote. */
export function fromMeaning(
  { code, message, reason, fix }: StatusMeaning,
  upstream: ErrorDetails,
  cause?: unknown,
): FabricError {
  return new FabricError(code, message, { details: { reason, upstream, fix }, cause });
}

/** The deepest JSON that is passed on; every writer of JSON after us recurses over it. */
export const MAX_JSON_DEPTH = 128;

/** Whether arrays and objects nest deeper than `limit`. */
export function exceedsDepth(value: unknown, limit: number = MAX_JSON_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit === 0) return true;
  return Object.values(value).some((inner) => exceedsDepth(inner, limit - 1));
}
