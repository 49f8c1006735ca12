import { describe, expect, it } from 'vitest';
import { CoordinationMachine } from '../src/engine/coordination-machine.ts';

/** So many that whatever takes a walk through all of them for each does not come to an end. */
const MANY = 50_000;
const HANG_GUARD_MS = 20_000;
const lock = { resource: 'context', mode: 'shared', ttlMs: 5_000, waitMs: 60_000 } as const;

/** One holds the lock, and many wait to share it. */
function queued() {
  const machine = new CoordinationMachine();
  const writer = { ...lock, mode: 'exclusive', holder: 'writer', ttlMs: 600_000 } as const;
  const { result } = machine.apply('p', 1_000, 'acquire', writer);
  for (let n = 0; n < MANY; n += 1) {
    machine.apply('p', 1_000, 'acquire', { ...lock, holder: `reader-${n}` });
  }
  return { machine, lease: 'lease' in result ? result.lease : expect.fail('not granted') };
}

describe('a long queue', { timeout: HANG_GUARD_MS }, () => {
  it('is granted at once, in order, and what was granted expires at once', () => {
    const { machine, lease } = queued();
    const { granted } = machine.apply('p', 2_000, 'release', lease).result;
    expect(granted).toHaveLength(MANY);
    expect(granted[0]).toMatchObject({ holder: 'reader-0', expiresAt: 7_000 });
    expect(granted.at(-1)).toMatchObject({ holder: `reader-${MANY - 1}` });
    expect(machine.partition('p').leases(2_000)).toHaveLength(MANY);
    expect(machine.partition('p').waiting(2_000)).toEqual([]);
    machine.apply('p', 7_000, 'settle');
    expect(machine.toRecord('p')?.locks).toMatchObject({ leases: [], places: [] });
    expect(machine.partition('p').snapshot(7_000).version).toBe(2 * MANY);
  });

  it('gives up all its places when their time is over', () => {
    const { machine } = queued();
    machine.apply('p', 61_000, 'settle');
    expect(machine.toRecord('p')?.locks).toMatchObject({
      leases: [{ holder: 'writer' }],
      places: [],
    });
  });

  it('is looked through once to see whether a place in it closes a circle', () => {
    const machine = new CoordinationMachine();
    const write = { ...lock, mode: 'exclusive', ttlMs: 600_000 } as const;
    machine.apply('p', 1_000, 'acquire', { ...write, holder: 'writer' });
    for (let n = 0; n < MANY; n += 1) {
      const holder = `agent-${n}`;
      machine.apply('p', 1_000, 'acquire', { ...write, resource: holder, holder });
      machine.apply('p', 1_000, 'acquire', { ...write, holder });
    }
    const places = machine.partition('p').waiting(1_000);
    const ends = [...places.slice(0, 5), ...places.slice(-5)];
    for (const place of ends) expect(machine.partition('p').deadlock(1_000, place)).toBe(undefined);
  });

  it('is broken at once', () => {
    const { machine, lease } = queued();
    machine.apply('p', 2_000, 'release', lease);
    const { result } = machine.apply('p', 3_000, 'breakLease', 'context');
    expect(result).toEqual({ released: true, granted: [] });
    expect(machine.partition('p').leases(3_000)).toEqual([]);
  });
});
