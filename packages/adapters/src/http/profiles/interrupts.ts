// Questions of agents that end their run to ask, and go on in a next run with the answers.

import {
  type AgentHandle,
  type CallContext,
  type EventBody,
  exceedsDepth,
  type InputRequest,
  type InputResponse,
  isObject,
  toFields,
  withoutSent,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { failure } from '../../reasons.ts';

const MAX_MESSAGE = 16_384;
const MAX_INTERRUPTS = 100;
/** Questions in one call. */
const MAX_LEGS = 100;

export interface Interrupt {
  readonly id: string;
  readonly request: InputRequest;
}

interface InterruptFields {
  readonly id: unknown;
  /** The question, or a value that holds it. */
  readonly said: unknown;
  readonly schema: unknown;
  readonly native: unknown;
}

/** Questions under the ids that the agent gave; those without a usable id are left out. */
export function toInterrupts(all: readonly InterruptFields[]): Interrupt[] {
  return all.slice(0, MAX_INTERRUPTS).flatMap(({ id, said, schema, native }, index) => {
    if (typeof id !== 'string' || id === '' || id.length > 512 || exceedsDepth(native)) return [];
    const message = cleanText(textOf(said), MAX_MESSAGE) || 'The agent waits for input';
    const name = id.length <= 128 ? id : `interrupt-${index + 1}`;
    const form = isObject(schema) && { schema };
    const kind = form ? 'form' : 'text';
    return [{ id, request: { id: name, kind, message, ...form, native } satisfies InputRequest }];
  });
}

interface QuestionedRuns<Start> {
  readonly context: CallContext;
  /** What the first run begins with. */
  readonly begin: () => Start;
  /** What a run begins with that answers; ids are those of the agent. */
  readonly resume: (ids: readonly string[], responses: readonly InputResponse[]) => Start;
  /** One run: its events, and what it ended to ask. */
  readonly run: (start: Start) => AsyncGenerator<EventBody, readonly Interrupt[], undefined>;
  /** What a later call needs to go on. */
  readonly handle: () => AgentHandle;
}

/** Runs of one call, until one ends without a question. With no caller to ask each answer is `cancel`. */
export async function* runWithQuestions<Start>(
  runs: QuestionedRuns<Start>,
): AsyncGenerator<EventBody, void, undefined> {
  const { responses, handle, ask } = runs.context;
  let start = responses ? runs.resume(interruptsIn(handle), responses) : runs.begin();
  for (let leg = 0; leg < MAX_LEGS; leg += 1) {
    let interrupts: readonly Interrupt[];
    try {
      interrupts = yield* runs.run(start);
    } catch (error) {
      throw leg > 0 ? withoutSent(error) : error;
    }
    if (interrupts.length === 0) return;
    const ids = interrupts.map(({ id }) => id);
    const requests = interrupts.map(({ request }) => request);
    const answers: readonly InputResponse[] = ask
      ? await ask(requests, { handle: { ...runs.handle(), interrupts: ids } })
      : requests.map(({ id }) => ({ id, action: 'cancel' }));
    start = runs.resume(ids, answers);
  }
  throw failure('too_many_questions', { limit: MAX_LEGS });
}

/** The interrupts that an earlier call ended with, by their ids at the agent. */
function interruptsIn(handle: AgentHandle | undefined): readonly string[] {
  const ids = handle?.interrupts;
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
}

/** An answer as the agent reads it: a text, the fields of its form, or that there is none. */
export function toPayload({ action, content }: InputResponse): unknown {
  if (action !== 'accept') return { action };
  const fields = toFields(content);
  const isText = typeof fields.text === 'string' && Object.keys(fields).length === 1;
  return isText ? fields.text : (content ?? {});
}

function textOf(said: unknown): string {
  if (typeof said === 'string') return said;
  const { question, message, text } = toFields(said);
  const words = [question, message, text].find((each) => typeof each === 'string');
  return typeof words === 'string' ? words : exceedsDepth(said) ? '' : JSON.stringify(said ?? '');
}
