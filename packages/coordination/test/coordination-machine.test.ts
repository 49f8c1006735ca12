import { describe, expect, it } from 'vitest';
import { CoordinationMachine } from '../src/engine/coordination-machine.ts';

const TEN_MINUTES = 600_000;
const put = { writes: [{ kind: 'put', key: 'a', value: 1 }] } as const;
const remove = { writes: [{ kind: 'delete', key: 'a' }] } as const;

/** A partition that held something once, and nothing since the time 2000. */
function emptied(): CoordinationMachine {
  const machine = new CoordinationMachine();
  machine.apply('p', 1_000, 'commit', put);
  machine.apply('p', 2_000, 'commit', remove);
  return machine;
}

/** Another machine that was told all that there is to keep of a partition. */
function restored(machine: CoordinationMachine): CoordinationMachine {
  const another = new CoordinationMachine();
  const record = machine.toRecord('p') ?? expect.fail('nothing to restore');
  another.restore('p', JSON.parse(JSON.stringify(record)));
  return another;
}

describe('a partition that holds nothing any more', () => {
  it.each([
    ['where it was emptied', (machine: CoordinationMachine) => machine],
    ['where it was restored', restored],
  ])('is forgotten after ten minutes, %s', (_, there) => {
    const machine = there(emptied());
    const end = 2_000 + TEN_MINUTES;
    expect([...machine.due(end - 1)]).toEqual([]);
    expect(machine.partition('p').snapshot(end - 1).version).toBe(2);
    expect([...machine.due(end)]).toEqual(['p']);
    expect(machine.apply('p', end, 'settle')).toMatchObject({ changed: true });
    expect(machine.toRecord('p')).toBeUndefined();
    expect(machine.partition('p').snapshot(end).version).toBe(0);
  });

  it('starts again with the next operation, with or without a tick', () => {
    const machine = emptied();
    const { result } = machine.apply('p', 2_000 + TEN_MINUTES, 'commit', put);
    expect(result).toEqual({ ok: true, version: 1 });
  });

  it('is kept while it is written to, or holds something again', () => {
    const machine = emptied();
    machine.apply('p', TEN_MINUTES, 'commit', remove);
    expect([...machine.due(2_000 + TEN_MINUTES)]).toEqual([]);
    machine.apply('p', TEN_MINUTES + 1, 'commit', put);
    machine.apply('p', 3 * TEN_MINUTES, 'settle');
    expect(machine.partition('p').snapshot(3 * TEN_MINUTES).version).toBe(4);
  });

  it('is kept with its events', () => {
    const machine = new CoordinationMachine();
    machine.apply('p', 1_000, 'commit', { ...put, event: 'told' });
    machine.apply('p', 2_000, 'commit', remove);
    machine.apply('p', 9 * TEN_MINUTES, 'settle');
    expect(machine.partition('p').snapshot(9 * TEN_MINUTES).version).toBe(2);
  });
});
