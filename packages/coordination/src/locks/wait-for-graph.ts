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
 * The place that has to go so that the circle opens: the one that closed it, which is the youngest.
 * Of several equally young each is, since none can know that it was not the last.
 */
export function isYoungest(
  ticket: string,
  circle: readonly string[],
  places: readonly Waiting[],
): boolean {
  const inCircle = places.filter(({ holder }) => circle.includes(holder));
  const own = inCircle.find((place) => place.ticket === ticket);
  return own !== undefined && inCircle.every(({ since }) => since <= own.since);
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
