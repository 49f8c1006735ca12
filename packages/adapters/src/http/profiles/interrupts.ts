// Questions of agents that end their run to ask, and go on in a next run with the answers.

import {
  type AgentHandle,
  type CallContext,
  exceedsDepth,
  type InputRequest,
  type InputResponse,
  isObject,
  toFields,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';

const MAX_MESSAGE = 16_384;
const MAX_INTERRUPTS = 100;

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

/** Questions under the ids that the agent gave; those it cannot be answered by are left out. */
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

/** Asks the caller; with no caller to ask each answer is `cancel`. */
export async function answersTo(
  { ask }: CallContext,
  interrupts: readonly Interrupt[],
  handle: AgentHandle,
): Promise<readonly InputResponse[]> {
  const requests = interrupts.map(({ request }) => request);
  if (!ask) return requests.map(({ id }) => ({ id, action: 'cancel' }));
  return ask(requests, { handle: { ...handle, interrupts: interrupts.map(({ id }) => id) } });
}

/** The interrupts that an earlier call ended with, by their ids at the agent. */
export function interruptsIn(handle: AgentHandle | undefined): readonly string[] {
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
