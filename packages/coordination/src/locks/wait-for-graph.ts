// Who waits for whom. A waiter waits for those whose lease is in its way and for those who stand
// before it in the queue. Agents that wait for each other in a circle wait for ever.

import type { Lease, LeaseMode, Waiting } from '@starloom/core';

/**
 * The circle that goes through the place with this ticket, as holders from its own on; `undefined`
 * when there is none.
 */
export function findDeadlock(
  ticket: string,
  leases: readonly Lease[],
  places: readonly Waiting[],
): readonly string[] | undefined {
  const start = places.find((place) => place.ticket === ticket);
  if (start === undefined) return undefined;
  const seen = new Set<string>();
  const walk = (place: Waiting, path: readonly string[]): readonly string[] | undefined => {
    for (const blocker of blockersOf(place, leases, places)) {
      if (blocker === start.holder) return path;
      if (seen.has(blocker)) continue;
      seen.add(blocker);
      for (const next of places.filter(({ holder }) => holder === blocker)) {
        const found = walk(next, [...path, blocker]);
        if (found) return found;
      }
    }
    return undefined;
  };
  return walk(start, [start.holder]);
}

/**
 * Did the place with this ticket close the circle, being the last that came? When two came at the
 * same time and their tickets do not tell, both did: better one too many is refused than none.
 */
export function isLast(
  ticket: string,
  circle: readonly string[],
  places: readonly Waiting[],
): boolean {
  const inCircle = places.filter(({ holder }) => circle.includes(holder));
  const own = inCircle.find((place) => place.ticket === ticket);
  return own !== undefined && !inCircle.some((place) => isLater(place, own));
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
): readonly string[] {
  const holders = leases.filter((lease) => lease.resource === place.resource);
  const before = places.filter(
    ({ resource, position }) => resource === place.resource && position < place.position,
  );
  const inTheWay = [...holders, ...before].filter(({ mode }) => collide(mode, place.mode));
  return [...new Set(inTheWay.map(({ holder }) => holder))];
}

function collide(a: LeaseMode, b: LeaseMode): boolean {
  return a === 'exclusive' || b === 'exclusive';
}
