import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PartitionPart, PartitionReader, toParts } from '../src/embedded/partition-parts.ts';
import { CoordinationMachine } from '../src/engine/coordination-machine.ts';
import type { PartitionRecord } from '../src/engine/partition.ts';

/** Something of everything, with an event for each entry. */
function partition(keys: readonly string[]): PartitionRecord {
  const machine = new CoordinationMachine();
  const lock = { resource: 'r', mode: 'exclusive', ttlMs: 5000 } as const;
  machine.apply('p', 1000, 'acquire', { ...lock, holder: 'alice' });
  machine.apply('p', 1000, 'acquire', { ...lock, holder: 'bob', waitMs: 500 });
  for (const [n, key] of keys.entries()) {
    machine.apply('p', 1000 + n, 'commit', {
      writes: [{ kind: 'put', key, value: { key, n }, ttlMs: 900, onExpire: { gone: key } }],
      event: { wrote: key },
      idempotency: { key: `once ${n}`, request: key },
    });
  }
  return machine.toRecord('p') ?? expect.fail('there is none');
}

function read(parts: Iterable<PartitionPart>): PartitionRecord | undefined {
  const reader = new PartitionReader();
  for (const { text } of parts) reader.add(text);
  return reader.take();
}

const jsonOf = (record: PartitionRecord): unknown => JSON.parse(JSON.stringify(record));
const keys = fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 40 }), { maxLength: 30 });

describe('a partition in parts', () => {
  it('is the same when it is put together, whatever it holds and however small they are', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 3000 }), (keys, bytes) => {
        const record = partition(keys);
        const parts = [...toParts(record, bytes)];
        expect(read(parts)).toEqual(jsonOf(record));
        expect(parts.map(({ isLast }) => isLast).lastIndexOf(false)).toBe(parts.length - 2);
      }),
      { numRuns: 200 },
    );
  });

  it('has none that is much longer than asked for, however long a value is', () => {
    const names = Array.from({ length: 200 }, (_, n) => `k${n}`);
    const long = { version: 1, json: JSON.stringify('ö"😀'.repeat(5_000)) };
    const record = partition(names);
    const entries = [['long', long] as const, ...record.entries, ['longer', long] as const];
    const parts = [...toParts({ ...record, entries }, 1000)];
    expect(read(parts)).toEqual(jsonOf({ ...record, entries }));
    expect(parts.length).toBeGreaterThan(60);
    for (const { text } of parts) expect(text.length).toBeLessThan(3000);
  });

  it('is made as it is asked for', () => {
    let made = 0;
    const value = { version: 1, json: 'x'.repeat(300) };
    const entry = {
      ...value,
      toJSON() {
        made += 1;
        return value;
      },
    };
    const entries = Array.from({ length: 1000 }, (_, n) => [`k${n}`, entry] as const);
    const parts = toParts({ ...partition([]), entries }, 5000);
    for (const taken of [1, 2, 3]) {
      expect(parts.next().value?.isLast).toBe(false);
      expect(made).toBeGreaterThan((taken - 1) * 8);
      expect(made).toBeLessThanOrEqual(taken * 17);
    }
  });

  it('is read from a record that is whole, as format 1 had it', () => {
    const record = partition(['a', 'b']);
    expect(read([{ text: JSON.stringify(record), isLast: true }])).toEqual(jsonOf(record));
  });

  it('is one empty part where there is no partition', () => {
    const parts = [...toParts(undefined, 1000)];
    expect(parts).toEqual([{ text: '', isLast: true }]);
    expect(read(parts)).toBeUndefined();
  });
});
