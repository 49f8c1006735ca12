import { expect, it } from 'vitest';
import type { Lease, LeaseMode, Waiting } from '../src/coordination-store.ts';
import { findDeadlock } from '../src/locks/wait-for-graph.ts';

let count = 0;
const held = (resource: string, holder: string, mode: LeaseMode = 'exclusive'): Lease => {
  count += 1;
  return { resource, holder, mode, token: count, expiresAt: 0 };
};
const place = (resource: string, holder: string, more: Partial<Waiting> = {}): Waiting => {
  count += 1;
  return {
    ticket: `${count}:${resource}`,
    resource,
    holder,
    mode: 'exclusive',
    priority: 0,
    position: 1,
    since: 0,
    until: 0,
    ...more,
  };
};

it('finds the circle through a place, and none where there is none', () => {
  const leases = [held('x', 'a'), held('y', 'b'), held('z', 'c')];
  const places = [place('y', 'a'), place('z', 'b')];
  const closing = place('x', 'c');
  const [first] = places as [Waiting];
  expect(findDeadlock(first.ticket, leases, places)).toBe(undefined);
  const all = [...places, closing];
  expect(findDeadlock(closing.ticket, leases, all)).toEqual(['c', 'a', 'b']);
  expect(findDeadlock('unknown', leases, all)).toBe(undefined);
});

it('sees that readers do not wait for each other', () => {
  const leases = [held('x', 'a', 'shared'), held('y', 'b', 'shared')];
  const places = [place('y', 'a', { mode: 'shared' }), place('x', 'b', { mode: 'shared' })];
  expect(findDeadlock(places[1]?.ticket ?? '', leases, places)).toBe(undefined);
  const upgrade = [place('y', 'a'), place('x', 'b')];
  const [, writer] = upgrade as [Waiting, Waiting];
  expect(findDeadlock(writer.ticket, leases, upgrade)).toEqual(['b', 'a']);
});

it('counts those before one in the queue, not those behind', () => {
  const leases = [held('x', 'a'), held('y', 'c')];
  const before = place('x', 'b', { position: 1 });
  const waitsForC = place('y', 'b');
  const last = place('x', 'c', { position: 2 });
  expect(findDeadlock(last.ticket, leases, [before, last, waitsForC])).toEqual(['c', 'b']);
  const jumped = [
    { ...last, position: 1 },
    { ...before, position: 2 },
  ];
  expect(findDeadlock(last.ticket, leases, jumped)).toBe(undefined);
});

it('sees one that waits for itself', () => {
  const own = place('x', 'a');
  expect(findDeadlock(own.ticket, [held('x', 'a')], [own])).toEqual(['a']);
});

it('ends in circles that the place is not part of', () => {
  const leases = [held('x', 'a'), held('y', 'b')];
  const places = [place('y', 'a'), place('x', 'b'), place('x', 'c', { position: 2 })];
  expect(findDeadlock(places[2]?.ticket ?? '', leases, places)).toBe(undefined);
});

it('knows which place closed a circle: the last that came', () => {
  const leases = [held('x', 'a'), held('y', 'b')];
  const closedBy = (...places: Waiting[]) =>
    places.flatMap(({ ticket, holder }) => (findDeadlock(ticket, leases, places) ? [holder] : []));
  expect(closedBy(place('y', 'a', { since: 1 }), place('x', 'b', { since: 2 }))).toEqual(['b']);
  expect(closedBy(place('y', 'a', { since: 2 }), place('x', 'b', { since: 1 }))).toEqual(['a']);
  expect(closedBy(place('y', 'a'), place('x', 'b'))).toEqual(['b']);
  const unnumbered = [place('y', 'a', { ticket: 'p' }), place('x', 'b', { ticket: 'q' })];
  expect(closedBy(...unnumbered)).toEqual(['a', 'b']);
  const elsewhere = place('z', 'a', { since: 9 });
  expect(closedBy(place('y', 'a'), place('x', 'b'), elsewhere)).toEqual(['b']);
});

it('lets an agent stand behind a place of its own, also with others in between', () => {
  const leases = [held('x', 'c')];
  const places = [
    place('x', 'a', { position: 1 }),
    place('x', 'b', { position: 2 }),
    place('x', 'a', { position: 3 }),
  ];
  for (const { ticket } of places) expect(findDeadlock(ticket, leases, places)).toBe(undefined);
  const elsewhere = [place('y', 'a', { position: 1 }), place('y', 'b', { position: 2 })];
  const all = [...places, ...elsewhere];
  for (const { ticket } of all) expect(findDeadlock(ticket, leases, all)).toBe(undefined);
});
