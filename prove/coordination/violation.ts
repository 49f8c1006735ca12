import type { Recorded } from './history.ts';

export const INVARIANTS = [
  'token_increases',
  'no_stale_write',
  'shared_keeps_writers_out',
  'delivered_once_and_whole',
  'sum_of_increments',
  'single_epoch',
  'nothing_acknowledged_lost',
  'repeated_once',
  'linearizable',
] as const;
export type Invariant = (typeof INVARIANTS)[number];

export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
  /** The part of the history that shows it. */
  readonly excerpt: readonly string[];
}

export function violation(
  invariant: Invariant,
  message: string,
  excerpt: readonly (Recorded | string)[] = [],
): Violation {
  const lines = excerpt.map((line) => (typeof line === 'string' ? line : toLine(line)));
  return { invariant, message, excerpt: lines };
}

/** `12.3–14.0 ms  a1 (life 5)  s/write {"key":"k"} → ok {"version":7}` */
export function toLine(recorded: Recorded): string {
  const { id, epoch, session, operation, invokedAt, returnedAt, outcome } = recorded;
  const { kind, ...asked } = operation;
  const until = Number.isFinite(returnedAt) ? `${returnedAt.toFixed(1)} ms` : 'open';
  const told = outcome.kind === 'ok' ? JSON.stringify(outcome.result) : Object.values(outcome)[1];
  const what = `${session}/${kind} ${JSON.stringify(asked)} → ${outcome.kind} ${told}`;
  return `${invokedAt.toFixed(1)}–${until}  ${id} (life ${epoch})  ${what}`;
}
