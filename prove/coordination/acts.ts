// What must have happened in a campaign that proves anything: a check that never sees the thing it
// is for finds nothing wrong with it.

import type { Recorded } from './history.ts';

/** Accepted, or refused for the reason after the colon. */
export const ACTS = [
  'read',
  'write',
  'cas',
  'increment',
  'acquire exclusive',
  'acquire shared',
  'renew',
  'release',
  'register',
  'heartbeat',
  'repeat',
  'heartbeat: stale_epoch',
  'write: stale_epoch',
  'acquire: stale_epoch',
  'write: stale_token',
  'write: lock_required',
] as const;
export type Act = (typeof ACTS)[number];

/** Which of them this was, if any. */
export function toActs({ operation, outcome }: Recorded): readonly Act[] {
  const { kind } = operation;
  if (outcome.kind === 'unknown') return [];
  const name = kind === 'acquire' ? `acquire ${operation.mode}` : kind;
  const act = outcome.kind === 'ok' ? name : `${kind}: ${outcome.reason}`;
  return ACTS.filter((each) => each === act);
}
