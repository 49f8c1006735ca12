import { setImmediate, setTimeout } from 'node:timers/promises';
import { type EventBody, FabricError } from '@starloom/core';
import { z } from 'zod';
import type { SampleAgent } from './agent.ts';

export interface RunOptions {
  readonly signal: AbortSignal;
  /** Pause between events: 0 only lets others have a turn, some 30 ms are pleasant to watch. */
  readonly pauseMs?: number;
}

/** The events of one call. Throws BAD_INPUT, what the work throws, or the reason of the signal. */
export async function* runAgent<Input>(
  agent: SampleAgent<Input>,
  input: unknown,
  { signal, pauseMs = 0 }: RunOptions,
): AsyncGenerator<EventBody, void, undefined> {
  for await (const event of agent.work(parseInput(agent, input), signal)) {
    await (pauseMs > 0 ? setTimeout(pauseMs) : setImmediate());
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
