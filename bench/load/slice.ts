import type { HttpCall } from '../mcp-call.ts';

/** Calls to one target by so many connections, each with one call in flight, for so long. */
export interface Slice {
  readonly url: string;
  readonly call: HttpCall;
  readonly connections: number;
  /** At first nothing is counted: connections are made, caches get warm. */
  readonly rampMs: number;
  readonly measureMs: number;
  /** A process whose CPU time is wanted. */
  readonly pid?: number | undefined;
}

export interface SliceResult {
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
  /** Of streams: until the agent's first event. */
  readonly firstEventsMs: readonly number[];
  /** CPU time of `pid` while answers were counted. */
  readonly cpuMicroseconds?: number | undefined;
  readonly failed: number;
  /** Why the first of them failed. */
  readonly failure?: string | undefined;
}
