// What every sample is: one capability with a schema, and the work behind it as a stream of events.
// How it is reached (MCP, lines of JSON, HTTP) is said in `serve/` and nowhere in the work.

import type { EventBody } from '@starloom/core';
import type { z } from 'zod';

/** What others know of an agent. */
export interface AgentCard<Input = unknown> {
  readonly id: string;
  readonly capability: string;
  readonly description: string;
  readonly input: z.ZodType<Input>;
  /** Shape of the `data` in the last event. */
  readonly output: z.ZodObject;
}

export interface SampleAgent<Input = unknown> extends AgentCard<Input> {
  /**
   * Ends with one `final` event, or throws a FabricError. Need not look at the signal between two
   * events: the server stops asking for more when the caller has left.
   */
  work(input: Input, signal: AbortSignal): Iterable<EventBody> | AsyncIterable<EventBody>;
}
