// Standing in the queue of a lock: not for ever, not in a circle, and without asking again and again.

import { type CoordinationStore, type Lease, orAborted } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import { fromHolder } from '../agents/caller.ts';
import { refuse } from '../errors.ts';
import type { LogWatch } from '../feed/log-watch.ts';
import { lockHeld } from './lock-errors.ts';
import { findDeadlock, isLast } from './wait-for-graph.ts';

export interface PlaceInQueue {
  readonly partition: string;
  readonly resource: string;
  readonly ticket: string;
}

/** Gives the place up again when waiting there would never end. */
export async function refuseDeadlock(
  store: CoordinationStore,
  { partition, ticket }: PlaceInQueue,
): Promise<void> {
  const [leases, waiting] = await Promise.all([store.leases(partition), store.waiting(partition)]);
  const circle = findDeadlock(ticket, leases, waiting);
  if (circle === undefined || !isLast(ticket, circle, waiting)) return;
  if (!(await store.cancelWait(partition, ticket))) return;
  const agents = circle.map((holder) => fromHolder(holder).agentId);
  throw refuse('deadlock', `Waiting would never end: ${[...agents, agents[0]].join(' → ')}`, {
    circle: agents,
    fix: 'release what you hold and ask again, always in the same order',
  });
}

/** The lease when it is granted; -32014 when that does not happen in time. */
export async function awaitTurn(
  store: CoordinationStore,
  { partition, resource, ticket }: PlaceInQueue,
  turn: {
    readonly watch: LogWatch;
    readonly waitMs: number;
    readonly signal: AbortSignal | undefined;
  },
): Promise<Lease> {
  const find = async () => {
    const leases = await store.leases(partition, resource);
    return leases.find((lease) => lease.ticket === ticket);
  };
  using deadline = deadlineSignal({ ms: turn.waitMs, parent: turn.signal });
  while (!deadline.signal.aborted) {
    const lease = await find();
    if (lease) return lease;
    await orAborted(turn.watch.news(), deadline.signal).catch(() => undefined);
  }
  const isCancelled = await store.cancelWait(partition, ticket);
  const lease = isCancelled ? undefined : await find();
  if (lease) return lease;
  throw lockHeld(resource, await store.leases(partition, resource));
}
