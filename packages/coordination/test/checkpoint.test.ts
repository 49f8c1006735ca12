import { silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { LogCheckpoint } from '../src/embedded/checkpoint.ts';
import type { SnapshotRow } from '../src/embedded/log-thread.ts';
import { CoordinationMachine } from '../src/engine/coordination-machine.ts';

const BYTES_PER_PART = 1000;

/** A machine, a checkpoint of it that begins with 10,000 bytes of log, and what it reported. */
function world(bytesPerPart = BYTES_PER_PART) {
  const machine = new CoordinationMachine();
  const errors: object[] = [];
  const broken = new Set<string>();
  const checkpoint = new LogCheckpoint({
    copy: (partition) => {
      if (broken.has(partition)) throw new RangeError('Invalid string length');
      return machine.toRecord(partition);
    },
    log: { ...silentLog, error: (fields: object) => void errors.push(fields) },
    smallestLogBytes: 10_000,
    bytesPerPart,
  });
  const put = (partition: string, key: string, length: number) => {
    const writes = [{ kind: 'put', key, value: 'x'.repeat(length) }] as const;
    machine.apply(partition, 1000, 'commit', { writes });
    checkpoint.noteRecord(partition, length);
  };
  return { machine, checkpoint, errors, broken, put };
}

const texts = (rows: readonly SnapshotRow[]) => rows.map(({ text }) => text).join('');

describe('a checkpoint', () => {
  it('makes no more than a few parts of a large partition with each batch', () => {
    const { checkpoint, put } = world();
    for (let n = 0; n < 500; n += 1) put('p', `k${n}`, 100);
    const slices = [checkpoint.slice(500, 1000)];
    while (checkpoint.isRunning) slices.push(checkpoint.slice(500, 1000));
    expect(slices.length).toBeGreaterThan(10);
    for (const { snapshots } of slices) {
      expect(texts(snapshots).length).toBeLessThanOrEqual(5 * BYTES_PER_PART);
    }
    const rows = slices.flatMap(({ snapshots }) => snapshots);
    expect(rows.map(({ part }) => part)).toEqual(rows.map((_, n) => n));
    expect(rows.filter(({ isLast }) => isLast)).toEqual(rows.slice(-1));
    expect(slices.map(({ truncate }) => truncate).filter(Boolean)).toEqual([
      { sequence: 500, now: 1000 },
    ]);
  });

  it('makes no more than some hundred small partitions with each batch', () => {
    const { checkpoint, put } = world(64 * 1_024);
    for (let n = 0; n < 2_000; n += 1) put(`p${n}`, 'k', 10);
    const slices = [checkpoint.slice(2_000, 1_000)];
    while (checkpoint.isRunning) slices.push(checkpoint.slice(2_000, 1_000));
    const sizes = slices.map(({ snapshots }) => snapshots.length);
    expect(Math.max(...sizes)).toBeLessThan(300);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(2_000);
  });

  it('keeps pace with the log when that grows faster', () => {
    const { checkpoint, put } = world();
    for (let n = 0; n < 1000; n += 1) put('p', `k${n}`, 100);
    let written = texts(checkpoint.slice(1000, 1000).snapshots).length;
    let arrived = 0;
    for (let sequence = 1001; checkpoint.isRunning; sequence += 1) {
      put('q', 'k', 50_000);
      arrived += 50_000;
      written += texts(checkpoint.slice(sequence, 1000).snapshots).length;
    }
    expect(arrived).toBeLessThan(5 * written);
  });

  it('goes on with a partition as it was when it came to it, whatever happens to it since', () => {
    const { checkpoint, put } = world();
    for (let n = 0; n < 100; n += 1) put('p', `k${n}`, 100);
    put('q', 'first', 100);
    const rows = [...checkpoint.slice(101, 1000).snapshots];
    for (let sequence = 102; checkpoint.isRunning; sequence += 1) {
      put('p', `k${sequence}`, 100);
      rows.push(...checkpoint.slice(sequence, 1000).snapshots);
    }
    const ofP = rows.filter(({ partition }) => partition === 'p');
    expect(new Set(ofP.map(({ sequence }) => sequence))).toEqual(new Set([101]));
    expect(texts(ofP)).toContain('"k99"');
    expect(texts(ofP)).not.toContain('"k102"');
    expect(rows.find(({ partition }) => partition === 'q')?.sequence).toBeGreaterThan(101);
  });

  it('reports that a snapshot cannot be made, keeps the log, and tries again later', () => {
    const { checkpoint, put, errors, broken } = world();
    for (const partition of ['a', 'b', 'c', 'd']) put(partition, 'k', 3000);
    broken.add('b');
    const failed = checkpoint.slice(4, 1000);
    expect(failed.truncate).toBeUndefined();
    expect(failed.snapshots.filter(({ isLast }) => isLast)).toMatchObject([{ partition: 'a' }]);
    expect(checkpoint.isRunning).toBe(false);
    expect(errors).toMatchObject([{ err: { cause: { message: 'Invalid string length' } } }]);

    broken.clear();
    expect(checkpoint.slice(5, 1000)).toEqual({ snapshots: [] });
    put('e', 'k', 10_000);
    const slices = [checkpoint.slice(6, 2000)];
    while (checkpoint.isRunning) slices.push(checkpoint.slice(6, 2000));
    const written = slices.flatMap(({ snapshots }) => snapshots);
    const complete = written.filter(({ isLast }) => isLast).map(({ partition }) => partition);
    expect(complete.toSorted()).toEqual(['b', 'c', 'd', 'e']);
    expect(slices.at(-1)?.truncate).toEqual({ sequence: 6, now: 2000 });
    expect(errors).toHaveLength(1);
  });
});
