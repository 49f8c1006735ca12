import { dirname } from 'node:path';
import { silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { LogCheckpoint } from '../src/embedded/checkpoint.ts';
import { LogThread } from '../src/embedded/log-thread.ts';
import { SqliteJournal } from '../src/embedded/sqlite-journal.ts';
import { CoordinationMachine } from '../src/engine/coordination-machine.ts';
import { MachineStore } from '../src/engine/machine-store.ts';
import {
  change,
  count,
  leaveBehind,
  numberIn,
  openWorld,
  rows,
} from './fixtures/embedded-world.ts';

const ENTRIES = 200;

/** A snapshot of `fill` takes a batch for each entry. */
const slowly = { smallestLogBytes: 5_000, bytesPerPart: 1 };
/** A snapshot of `fill` has several parts, all in the batch that brings the entries. */
const atOnce = { smallestLogBytes: 1, bytesPerPart: 4_000 };

const fill = (store: CoordinationStore, value: number) =>
  store.commit('large', {
    writes: Array.from({ length: ENTRIES }, (_, n) => ({ kind: 'put', key: `k${n}`, value })),
  });

async function expectFilled(store: CoordinationStore, value: number): Promise<void> {
  const { entries } = await store.read('large');
  expect(entries.size).toBe(ENTRIES);
  expect(new Set([...entries.values()].map((entry) => entry.value))).toEqual(new Set([value]));
}

const partsOf = (path: string, sequence: number) =>
  numberIn(path, `SELECT count(*) FROM snapshot WHERE sequence = ${sequence}`);

describe('a snapshot of many parts', () => {
  it('is nothing before its last part: the one before counts, and the log since', async () => {
    await using world = await openWorld();
    await using copy = await openWorld();
    const first = await world.open(atOnce);
    await fill(first, 1);
    await first.close();
    expect(rows(world.path, 'log')).toBe(0);

    const second = await world.open(slowly);
    for (const value of [2, 3]) await fill(second, value);
    await leaveBehind(world.path, copy.path);
    await second.close();
    expect(numberIn(copy.path, 'SELECT max(sequence) FROM snapshot WHERE is_last = 1')).toBe(1);
    expect(partsOf(copy.path, 3)).toBeGreaterThan(0);
    const third = await copy.open();
    await expectFilled(third, 3);
    await third.close();
    expect(partsOf(copy.path, 3)).toBe(0);
    expect(partsOf(copy.path, 1)).toBeGreaterThan(1);
  });

  it('takes the place of the one before and of the log once it is complete', async () => {
    await using world = await openWorld({ smallestLogBytes: 5_000, bytesPerPart: 500 });
    await using copy = await openWorld();
    const store = await world.open();
    for (const value of [1, 2, 3]) await fill(store, value);
    const oldest = async () => {
      await count(store);
      await leaveBehind(world.path, copy.path);
      return numberIn(copy.path, 'SELECT min(sequence) FROM snapshot');
    };
    await expect.poll(oldest, { timeout: 20_000 }).toBeGreaterThan(1);
    await store.close();
    expect(numberIn(copy.path, "SELECT value FROM meta WHERE name = 'truncated'")).toBeGreaterThan(
      0,
    );
    const opened = await copy.open();
    await expectFilled(opened, 3);
    await opened.close();
  });

  it('does not keep a store from closing', async () => {
    await using world = await openWorld(slowly);
    const store = await world.open();
    await fill(store, 1);
    await store.close();
    expect(rows(world.path, 'snapshot')).toBeGreaterThan(0);
    expect(rows(world.path, 'snapshot')).toBeLessThan(ENTRIES);
    expect(rows(world.path, 'log')).toBe(1);
  });

  it.each([
    ['the first part is missing', 'DELETE FROM snapshot WHERE part = 0'],
    ['a part is missing', 'DELETE FROM snapshot WHERE part = 1'],
    ['the last part is missing', 'DELETE FROM snapshot WHERE is_last = 1'],
    ['a part is damaged', "UPDATE snapshot SET text = replace(text, 'k', 'j') WHERE part = 1"],
  ])('is refused where %s', async (_, statement) => {
    await using world = await openWorld(atOnce);
    const store = await world.open();
    await fill(store, 1);
    await store.close();
    change(world.path, statement);
    const left = rows(world.path, 'snapshot');
    await expect(world.open()).rejects.toMatchObject({ details: { reason: 'corrupt_store' } });
    expect(rows(world.path, 'snapshot')).toBe(left);
  });
});

describe('a partition that is gone', () => {
  it('stays so when the process dies between its snapshot and the end of the log', async () => {
    await using world = await openWorld();
    await using copy = await openWorld();
    const first = await world.open(atOnce);
    const put = (key: string) => ({ kind: 'put', key, value: 1 }) as const;
    const remove = (key: string) => ({ kind: 'delete', key }) as const;
    await first.commit('p', { writes: [put('a')] });
    await first.close();
    expect(rows(world.path, 'log')).toBe(0);

    const second = await world.open(slowly);
    await second.commit('p', { writes: [put('b'), remove('a')] });
    expect(await second.commit('p', { writes: [remove('b')], ifVersion: 2 })).toMatchObject({
      ok: true,
    });
    world.clock.advance(600_000);
    copy.clock.advance(600_000);
    await second.tick();
    await fill(second, 1);
    await leaveBehind(world.path, copy.path);
    await second.close();
    expect(rows(copy.path, 'log')).toBe(4);
    expect(numberIn(copy.path, "SELECT max(sequence) FROM snapshot WHERE partition = 'p'")).toBe(5);

    const third = await copy.open(atOnce);
    expect(await third.read('p')).toEqual({ version: 0, entries: new Map() });
    await fill(third, 2);
    await third.close();
    expect(rows(copy.path, 'log')).toBe(0);
    expect(numberIn(copy.path, "SELECT count(*) FROM snapshot WHERE partition = 'p'")).toBe(0);
  });
});

describe('a snapshot that cannot be made', () => {
  it('is reported, and the store goes on with its log', async () => {
    await using world = await openWorld();
    const errors: object[] = [];
    const log = { ...silentLog, error: (fields: object) => void errors.push(fields) };
    const machine = new CoordinationMachine();
    const copy = () => {
      throw new RangeError('Invalid string length');
    };
    const checkpoint = new LogCheckpoint({ copy, log, smallestLogBytes: 500 });
    const reader = { snapshots: () => {}, records: () => {} };
    const { thread } = await LogThread.open(world.path, reader);
    const journal = new SqliteJournal({
      folder: dirname(world.path),
      thread,
      checkpoint,
      last: 0,
      log,
    });
    const store = new MachineStore({ machine, now: () => 1000, journal });
    for (let n = 1; n <= 50; n += 1) expect(await count(store)).toEqual({ ok: true, version: n });
    await store.close();
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.length).toBeLessThan(15);
    expect(rows(world.path, 'log')).toBe(50);
    const opened = await world.open();
    expect((await opened.read('p')).entries.get('n')?.value).toBe(50);
    await opened.close();
  });
});
