import { stat } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { encodeRecord } from '../src/embedded/sqlite-journal.ts';
import { SqliteLog } from '../src/embedded/sqlite-log.ts';
import { CoordinationMachine } from '../src/engine/coordination-machine.ts';
import { count, numberIn, openWorld, rows } from './fixtures/embedded-world.ts';

const FORMAT_1 = `
  PRAGMA application_id = ${0x53544c4d};
  PRAGMA user_version = 1;
  CREATE TABLE log (
    sequence INTEGER PRIMARY KEY, crc INTEGER NOT NULL, record TEXT NOT NULL
  ) STRICT;
  CREATE TABLE snapshot (
    partition TEXT PRIMARY KEY, sequence INTEGER NOT NULL, crc INTEGER NOT NULL, text TEXT NOT NULL
  ) STRICT;
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
  INSERT INTO meta VALUES ('truncated', 3), ('now', 1000);
`;

const one = { writes: [{ kind: 'increment', key: 'n', by: 1 }], event: 'counted' } as const;

/** Three counts in a snapshot, two more in the log. */
function writeFormat1(path: string): void {
  const machine = new CoordinationMachine();
  for (let n = 0; n < 3; n += 1) machine.apply('p', 1000, 'commit', one);
  const snapshot = JSON.stringify(machine.toRecord('p'));
  const record = encodeRecord({ partition: 'p', now: 1000, operation: 'commit', args: [one] });
  const database = new DatabaseSync(path);
  database.exec(FORMAT_1);
  const append = database.prepare('INSERT INTO log VALUES (?, ?, ?)');
  for (const sequence of [4, 5]) append.run(sequence, crc32(record), record);
  const put = database.prepare('INSERT INTO snapshot VALUES (?, ?, ?, ?)');
  put.run('p', 3, crc32(snapshot), snapshot);
  database.close();
}

describe('a file of format 1', () => {
  it('is read, and goes on in format 2', async () => {
    await using world = await openWorld();
    writeFormat1(world.path);
    const first = await world.open();
    const { version, entries } = await first.read('p');
    expect([version, entries.get('n')?.value]).toEqual([5, 5]);
    expect((await first.events('p', 0, 10)).events).toHaveLength(5);
    await first.close();
    expect(numberIn(world.path, 'PRAGMA user_version')).toBe(2);
    expect(rows(world.path, 'snapshot')).toBe(1);

    const second = await world.open({ smallestLogBytes: 1, bytesPerPart: 100 });
    for (let n = 6; n < 16; n += 1) expect(await count(second)).toEqual({ ok: true, version: n });
    await second.close();
    const third = await world.open();
    expect((await third.read('p')).entries.get('n')?.value).toBe(15);
    await third.close();
  });
});

describe('the size of the file', () => {
  const part = (sequence: number, part: number, isLast: boolean, text: string) => ({
    partition: 'p',
    sequence,
    part,
    isLast,
    text,
  });

  it('falls again when what it held is gone, a little at a time', async () => {
    await using world = await openWorld();
    const log = new SqliteLog(world.path);
    expect([...log.load()].at(-1)).toMatchObject({ kind: 'ready' });
    const text = 'x'.repeat(100_000);
    const parts = Array.from({ length: 100 }, (_, n) => part(1, n, n === 99, text));
    log.write({ records: ['a'], snapshots: parts });
    const gone = { records: ['b'], snapshots: [part(2, 0, true, '')] };
    log.write({ ...gone, truncate: { sequence: 2, now: 1000 } });
    let steps = 1;
    while (log.giveBack()) steps += 1;
    expect(steps).toBeGreaterThan(5);
    expect(steps).toBeLessThan(20);
    log.close();
    expect(rows(world.path, 'snapshot')).toBe(0);
    expect((await stat(world.path)).size).toBeLessThan(1_000_000);
  });

  it('stays as it is when nothing can be given back, and the next batch says why', async () => {
    await using world = await openWorld();
    const log = new SqliteLog(world.path);
    expect([...log.load()].at(-1)).toMatchObject({ kind: 'ready' });
    log.write({ records: ['x'.repeat(1_000_000)], snapshots: [] });
    log.write({ records: ['b'], snapshots: [], truncate: { sequence: 2, now: 1000 } });
    log.close();
    expect(log.giveBack()).toBe(false);
    expect(() => log.write({ records: ['c'], snapshots: [] })).toThrow();
  });

  it('is not kept by the file beside it', async () => {
    await using world = await openWorld();
    const log = new SqliteLog(world.path);
    expect([...log.load()].at(-1)).toMatchObject({ kind: 'ready' });
    const beside = async () => (await stat(`${world.path}-wal`)).size;
    log.write({ records: ['x'.repeat(40_000_000)], snapshots: [] });
    expect(await beside()).toBeGreaterThan(40_000_000);
    for (const record of ['a', 'b']) log.write({ records: [record], snapshots: [] });
    expect(await beside()).toBeLessThan(20_000_000);
    log.close();
  });
});
