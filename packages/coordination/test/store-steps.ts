// Random steps on a store. What they refer to (a lease, a ticket, a version) is relative to what
// there is by then.

import fc from 'fast-check';

export const PARTITIONS = ['p', 'q'];
export const RESOURCES = ['r', 's'];
const KEYS = ['x', 'y', 'z'];

const index = fc.nat({ max: 20 });
const ttlMs = fc.constantFrom(100, 300, 1000, 20_000);
const idempotency = optional(
  fc.record({
    key: fc.constantFrom('once', 'twice'),
    request: fc.constantFrom('this', 'this', 'that'),
  }),
  5,
);
const value = fc.constantFrom(0, 1, 2.5, 'text', null, { deep: [1, 'ö'] }, []);
const event = optional(fc.constantFrom('told', { type: 'update' }), 2);

const write = fc.oneof(
  fc.record({ kind: fc.constant('put'), key: fc.constantFrom(...KEYS), value }),
  fc.record({
    kind: fc.constant('put'),
    key: fc.constantFrom(...KEYS),
    value,
    ttlMs,
    onExpire: optional(fc.constantFrom('gone', { type: 'gone' }), 1),
  }),
  fc.record({
    kind: fc.constant('increment'),
    key: fc.constantFrom(...KEYS),
    by: fc.constantFrom(1, -2, 0.1, Number.MAX_SAFE_INTEGER),
  }),
  fc.record({ kind: fc.constant('delete'), key: fc.constantFrom(...KEYS) }),
);

const commit = fc.record({
  writes: fc.uniqueArray(write, { maxLength: 3, selector: ({ key }) => key }),
  event,
  /** Relative to what is right. */
  ifVersion: optional(fc.constantFrom(0, 0, 1), 3),
  ifKeys: optional(fc.uniqueArray(fc.constantFrom(...KEYS), { minLength: 1 }), 3),
  ifKeysOff: fc.constantFrom(0, 0, 1),
  fence: optional(index, 2),
  idempotency,
});

const request = fc.record({
  resource: fc.constantFrom(...RESOURCES),
  holder: fc.constantFrom('a', 'b', 'c'),
  mode: fc.constantFrom('exclusive', 'shared'),
  ttlMs,
  waitMs: optional(fc.constantFrom(0, 150, 2000, 15_000), 1),
  priority: optional(fc.constantFrom(-1, 0, 1), 2),
  idempotency,
});

const partition = fc.constantFrom(...PARTITIONS);

export const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('commit'), partition, commit }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('acquire'), partition, request }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('acquireAndCommit'), partition, request, commit }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('renew'), partition, lease: index, ttlMs }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('release'), partition, lease: index }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('breakLease'),
      partition,
      resource: fc.constantFrom(...RESOURCES),
      lease: optional(index, 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('cancelWait'), partition, ticket: index }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('events'),
      partition,
      after: fc.nat({ max: 30 }),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop'), partition }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('tick'), partition }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('advance'),
      partition,
      ms: fc.constantFrom(1, 50, 100, 250, 700, 5000, 599_000, 600_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen'), partition }) },
);

export type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;
export type CommitPlan = typeof commit extends fc.Arbitrary<infer One> ? One : never;

/** Absent `rarity` times as often as present. */
function optional<T>(arbitrary: fc.Arbitrary<T>, rarity: number): fc.Arbitrary<T | undefined> {
  const absent = { weight: rarity, arbitrary: fc.constant(undefined) };
  return fc.oneof(absent, { weight: 1, arbitrary });
}
