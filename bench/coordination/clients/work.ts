// What the process of the clients is asked to do, and what it answers: a line of JSON each.

import type { UpdateSlice } from '../update-target.ts';
import type { GatewayAddress } from './connection.ts';

/** Writers, each on a connection of its own with a session of its own, one update at a time. */
export interface UpdateWork {
  readonly kind: 'update';
  readonly address: GatewayAddress;
  readonly connections: number;
  /** At first nothing is counted. */
  readonly rampMs: number;
  readonly measureMs: number;
  /** Of the gateway, whose CPU time is wanted. */
  readonly pid: number;
}

/** Subscribers of one session, each on a connection of its own; they stay for the next time. */
export interface FanOutWork {
  readonly kind: 'fan_out';
  readonly address: GatewayAddress;
  readonly subscribers: number;
  readonly measureMs: number;
  readonly pid: number;
}

/** A subscriber that comes back after so many events, several times over. */
export interface ResumeWork {
  readonly kind: 'resume';
  readonly address: GatewayAddress;
  readonly events: number;
  readonly times: number;
}

/** Of an update to everybody. */
export interface Delivery {
  /** From sending it until the first subscriber has it, and until the last has. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** What the main thread of the server needed for it, however long it had to wait for a core. */
  readonly cpuMs?: number | undefined;
}

export interface FanOutResult {
  readonly deliveries: readonly Delivery[];
  /** Of the gateway while they were delivered. */
  readonly cpuMicroseconds?: number | undefined;
}

export interface ResumeResult {
  /** Of each time: from subscribing until the last missed event is there. */
  readonly resumedMs: readonly number[];
}

export interface ClientWork {
  readonly update: { readonly work: UpdateWork; readonly result: UpdateSlice };
  readonly fan_out: { readonly work: FanOutWork; readonly result: FanOutResult };
  readonly resume: { readonly work: ResumeWork; readonly result: ResumeResult };
}

export type WorkKind = keyof ClientWork;
export type Answer<Kind extends WorkKind> =
  | { readonly result: ClientWork[Kind]['result'] }
  | { readonly failure: string };
