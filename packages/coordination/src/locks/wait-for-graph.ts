// Who waits for whom. A waiter waits for those whose lease is in its way and for those who stand
// before it in the queue; agents that wait for each other in a circle wait for ever. A circle
// closes at what its last one holds: an agent that holds nothing blocks no other agent for ever. So
// it may stand in a queue as often as it likes, also behind itself.

import type { Lease, LeaseMode, Waiting } from '../coordination-store.ts';

/**
 * The circle that the place with this ticket closed, being the last in it that came, as holders from
 * its own on; `undefined` when there is none. When several came at the same time and their tickets do
 * not tell, each closed it: better one too many is refused than none.
 */
export function findDeadlock(
  ticket: string,
  leases: readonly Lease[],
  places: readonly Waiting[],
): readonly string[] | undefined {
  const start = places.find((place) => place.ticket === ticket);
  if (start === undefined) return undefined;
  const earlier = places.filter((place) => !isLater(place, start));
  const seen = new Set([start.holder]);
  const walk = (place: Waiting, path: readonly string[]): readonly string[] | undefined => {
    for (const blocker of blockersOf(place, leases, earlier)) {
      if (isLease(blocker) && blocker.holder === start.holder) return path;
      if (seen.has(blocker.holder)) continue;
      seen.add(blocker.holder);
      for (const next of earlier.filter(({ holder }) => holder === blocker.holder)) {
        const found = walk(next, [...path, blocker.holder]);
        if (found) return found;
      }
    }
    return undefined;
  };
  return walk(start, [start.holder]);
}

type Blocker = Lease | Waiting;

function isLease(blocker: Blocker): blocker is Lease {
  return 'token' in blocker;
}

/** Engines number their tickets as they give them out. */
function isLater(a: Waiting, b: Waiting): boolean {
  if (a.since !== b.since) return a.since > b.since;
  return Number.parseInt(a.ticket, 10) > Number.parseInt(b.ticket, 10);
}

function blockersOf(
  place: Waiting,
  leases: readonly Lease[],
  places: readonly Waiting[],
): readonly Blocker[] {
  const holders = leases.filter((lease) => lease.resource === place.resource);
  const before = places.filter(
    ({ resource, position }) => resource === place.resource && position < place.position,
  );
  return [...holders, ...before].filter(({ mode }) => collide(mode, place.mode));
}

function collide(a: LeaseMode, b: LeaseMode): boolean {
  return a === 'exclusive' || b === 'exclusive';
}
