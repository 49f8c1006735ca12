import { expect, it } from 'vitest';
import type { Lease, LeaseMode, Waiting } from '../src/coordination-store.ts';
import { findDeadlock as find, toLockView } from '../src/locks/wait-for-graph.ts';

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

const findDeadlock = (
  ticket: string,
  leases: readonly Lease[],
  places: readonly Waiting[],
): readonly string[] | undefined => {
  const own = places.find((each) => each.ticket === ticket);
  return own && find(own, toLockView(leases, places));
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

it('looks at each lease and place of a chain once, and at none for an agent that no other waits for', () => {
  const many = 1_000;
  const names = Array.from({ length: many }, (_, n) => `agent-${n}`);
  const leases = [held('x', 'holder'), ...names.map((name) => held(`own ${name}`, name))];
  const places = names.map((name, n) => place('x', name, { position: n + 1, since: n }));
  const last = places.at(-1) as Waiting;
  const follower = place(`own ${last.holder}`, 'follower');
  const newcomer = place('x', 'newcomer', { position: many + 1, since: many });
  const view = toLockView(leases, [...places, newcomer, follower]);
  let looks = 0;
  const counted = (ticket: Waiting) => {
    looks = 0;
    const count = <Item>(items: readonly Item[]): readonly Item[] => {
      looks += items.length;
      return items;
    };
    const found = find(ticket, {
      isInTheWay: view.isInTheWay,
      leases: (resource) => count(view.leases(resource)),
      places: (resource) => count(view.places(resource)),
      placesOf: (holder) => count(view.placesOf(holder)),
    });
    expect(found).toBe(undefined);
    return looks;
  };
  expect(counted(newcomer)).toBe(0);
  expect(counted(places.at(-2) as Waiting)).toBe(0);
  expect(counted(last)).toBeLessThan(3 * many);
});
