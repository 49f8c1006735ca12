// What every sample is: one capability with a schema, and the work behind it as a stream of events.
// How it is reached (MCP, lines of JSON, HTTP) is said in `serve/` and nowhere in the work.

import { setImmediate } from 'node:timers/promises';
import { type Citation, type EventBody, FabricError } from '@starloom/core';
import { z } from 'zod';

export interface AgentCard<Input = unknown> {
  readonly id: string;
  readonly capability: string;
  readonly description: string;
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodObject;
  readonly timeoutMs?: number;
}

export interface SampleAgent<Input = unknown> extends AgentCard<Input> {
  /**
   * Ends with one `final` event, or throws a FabricError. The server stops asking for more events
   * when the caller has left.
   */
  work(input: Input): Iterable<EventBody> | AsyncIterable<EventBody>;
}

export function progress(percent: number, message: string): EventBody {
  return { type: 'progress', data: { percent, message } };
}

/** The text word by word, each with the white space after it. */
export function* speak(text: string): Generator<EventBody> {
  for (const [word] of text.matchAll(/^\s+|\S+\s*/g)) yield { type: 'token', data: { text: word } };
}

export function final(answer: string, data: object, citations?: Citation[]): EventBody {
  return { type: 'final', data: { answer, data, ...(citations && { citations }) } };
}

/** The events of one call. Throws BAD_INPUT, what the work throws, or the reason of the signal. */
export async function* runAgent<Input>(
  agent: SampleAgent<Input>,
  input: unknown,
  signal: AbortSignal,
): AsyncGenerator<EventBody, void, undefined> {
  for await (const event of agent.work(parseInput(agent, input))) {
    // Others have a turn.
    await setImmediate();
    signal.throwIfAborted();
    yield event;
  }
}

function parseInput<Input>(agent: SampleAgent<Input>, input: unknown): Input {
  const parsed = agent.input.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new FabricError('BAD_INPUT', `The arguments do not fit "${agent.capability}"`, {
    details: {
      reason: 'arguments',
      problems: z.prettifyError(parsed.error).split('\n'),
      fix: `see the input schema of ${agent.id}`,
    },
  });
}
