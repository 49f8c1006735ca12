import { describe, expect, it } from 'vitest';
import { check } from '../../prove/coordination/check.ts';
import { type Asked, History, type Outcome } from '../../prove/coordination/history.ts';

/** One history by hand: everything takes one tick, one after the other, unless left open. */
function tell() {
  let now = 0;
  const history = new History(() => {
    now += 1;
    return now;
  });
  const did = (asked: Partial<Asked> & Pick<Asked, 'operation'>, outcome: Outcome) => {
    const agent = asked.agent ?? 'a';
    const id = history.nextId(agent);
    history.invoke({ epoch: 1, session: 's', ...asked, agent }, id)(outcome);
    return id;
  };
  const found = () => check(history).violations.map(({ invariant }) => invariant);
  return { history, did, found };
}

const ok = (result: {
  version?: number;
  token?: number;
  value?: string | number;
  epoch?: number;
}) => ({ kind: 'ok', result }) as const;
const REFUSED = { kind: 'refused', reason: 'stale_token', code: -32_015 } as const;
const held = { kind: 'refused', reason: 'lock_held', code: -32_014 } as const;
const UNKNOWN = { kind: 'unknown', why: 'closed' } as const;
const acquire = { kind: 'acquire', resource: 'context', mode: 'exclusive' } as const;
const share = { ...acquire, mode: 'shared' } as const;
const write = (token: number, key = `k${token}`) =>
  ({ kind: 'write', key, value: 'v', token }) as const;
const increment = { kind: 'increment', key: 'n', by: 1 } as const;

describe('tokens', () => {
  it('may be granted in rising order', () => {
    const { did, found } = tell();
    did({ operation: acquire }, ok({ token: 1 }));
    did({ operation: acquire }, ok({ token: 2 }));
    expect(found()).toEqual([]);
  });

  it.for([
    [2, 1],
    [2, 2],
  ])('are found out when they come as %s', (tokens) => {
    const { did, found } = tell();
    for (const token of tokens) did({ operation: acquire }, ok({ token }));
    expect(found()).toContain('token_increases');
  });
});

describe('writes', () => {
  it('of a holder that was followed must be refused', () => {
    const { did, found } = tell();
    did({ operation: acquire }, ok({ token: 1 }));
    did({ operation: acquire }, ok({ token: 2 }));
    did({ operation: write(1) }, REFUSED);
    expect(found()).toEqual([]);
    did({ operation: write(1) }, ok({ version: 3 }));
    expect(found()).toContain('no_stale_write');
  });

  it('under a shared lock must be refused', () => {
    const { did, found } = tell();
    did({ operation: share }, ok({ token: 1 }));
    did({ operation: write(1) }, REFUSED);
    expect(found()).toEqual([]);
    did({ operation: write(1) }, ok({ version: 3 }));
    expect(found()).toContain('no_stale_write');
  });

  it('must be in a log that begins with the session unless it became too long', () => {
    const [short, long] = [tell(), tell()];
    short.history.logs.set('s', { from: 10_000, entries: [] });
    expect(short.found()).toEqual(['nothing_acknowledged_lost']);
    long.history.logs.set('s', { from: 10_001, entries: [] });
    expect(long.found()).toEqual([]);
  });

  it('must stand in the log once, if acknowledged, and not at all, if refused', () => {
    const [lost, doubled, undone] = [tell(), tell(), tell()];
    lost.did({ operation: write(1) }, ok({ version: 3 }));
    lost.history.logs.set('s', { from: 0, entries: [] });
    expect(lost.found()).toEqual(['nothing_acknowledged_lost']);

    const cause = doubled.did({ operation: write(1) }, UNKNOWN);
    const entry = { cause, op: 'merge', update: {} };
    const twice = [
      { version: 3, ...entry },
      { version: 4, ...entry },
    ];
    doubled.history.logs.set('s', { from: 0, entries: twice });
    expect(doubled.found()).toEqual(['nothing_acknowledged_lost']);

    const refused = undone.did({ operation: write(1) }, REFUSED);
    const entries = [{ version: 3, cause: refused, op: 'merge', update: {} }];
    undone.history.logs.set('s', { from: 0, entries });
    expect(undone.found()).toEqual(['nothing_acknowledged_lost']);
  });
});

describe('counters', () => {
  it.for([
    [1, true],
    [2, true],
    [0, false],
    [3, false],
  ] as const)(
    'after one acknowledged and one unknown increment may be %i: %s',
    ([value, isRight]) => {
      const { did, found } = tell();
      did({ operation: increment }, ok({ version: 1 }));
      did({ operation: increment }, UNKNOWN);
      const version = value === 2 ? 2 : 1;
      did({ operation: { kind: 'read', key: 'n' } }, ok({ value, version }));
      expect(found().includes('sum_of_increments')).toBe(!isRight);
    },
  );
});

describe('what was read under a shared lock', () => {
  const read = { kind: 'read', key: 'k', token: 1 } as const;
  const renew = { kind: 'renew', resource: 'context', token: 1 } as const;

  it.for([
    ['stays as it is', 5, ok({}), []],
    ['changes, and the lease is gone', 6, REFUSED, []],
    ['changes, and nobody knows of the lease', 6, UNKNOWN, []],
    ['changes, and the lease lived through it', 6, ok({}), ['shared_keeps_writers_out']],
  ] as const)('%s', ([, version, renewed, expected]) => {
    const { did, found } = tell();
    did({ operation: share }, ok({ token: 1 }));
    did({ operation: { kind: 'write', key: 'k', value: 'v' }, agent: 'b' }, ok({ version: 5 }));
    did({ operation: read }, ok({ value: 'v', version: 5 }));
    if (version > 5) {
      did({ operation: { kind: 'write', key: 'k', value: 'v' }, agent: 'b' }, ok({ version }));
    }
    did({ operation: read }, ok({ value: 'v', version }));
    did({ operation: renew }, renewed);
    expect(found()).toEqual(expected);
  });
});

describe('a request that comes again', () => {
  const refused = (reason: string) => ({ kind: 'refused', reason, code: -32_013 }) as const;

  it.for([
    ['gets the first answer', ok({ version: 3, token: 7 }), true],
    ['gets no answer', UNKNOWN, true],
    ['comes from one who lost its place', refused('not_found'), true],
    ['was done again', ok({ version: 4, token: 7 }), false],
    ['was granted again', ok({ version: 3, token: 8 }), false],
    ['stands in its own way', refused('lock_held'), false],
    ['conflicts with itself', refused('conflict'), false],
  ] as const)('%s', ([, outcome, isRight]) => {
    const { did, found } = tell();
    const of = did(
      { operation: { kind: 'write', key: 'k', value: 'v' } },
      ok({ version: 3, token: 7 }),
    );
    did({ operation: { kind: 'repeat', of } }, outcome);
    expect(found()).toEqual(isRight ? [] : ['repeated_once']);
  });
});

describe('a lock that is asked for again', () => {
  it.for([
    ['is held by others and its own lease is over', held, REFUSED, true],
    ['is granted anew and the first lease is over', ok({ token: 2 }), REFUSED, true],
    ['is held by others although its own lease lives', held, ok({}), false],
    ['is granted anew although the first lease lives', ok({ token: 2 }), ok({}), false],
    ['is the same as before', ok({ token: 1 }), ok({}), true],
  ] as const)('%s', ([, again, released, isRight]) => {
    const { did, found } = tell();
    const of = did({ operation: acquire }, ok({ token: 1 }));
    did({ operation: { kind: 'repeat', of } }, again);
    did({ operation: { kind: 'release', resource: 'context', token: 1 } }, released);
    expect(found()).toEqual(isRight ? [] : ['repeated_once']);
  });

  it('may not get a token that was granted to somebody else', () => {
    const { did, found } = tell();
    const of = did({ operation: acquire }, ok({ token: 1 }));
    did({ operation: acquire, agent: 'b' }, ok({ token: 2 }));
    did({ operation: { kind: 'repeat', of } }, ok({ token: 2 }));
    expect(found()).toContain('token_increases');
  });
});

it('finds an earlier life that is refused for another reason than that it is over', () => {
  const { did, found } = tell();
  did({ operation: { kind: 'register' }, epoch: 0 }, ok({ epoch: 5 }));
  did({ operation: { kind: 'register' }, epoch: 5 }, ok({ epoch: 6 }));
  did({ operation: acquire, epoch: 5 }, { kind: 'refused', reason: 'not_found', code: -32_004 });
  did({ operation: acquire, epoch: 6 }, { kind: 'refused', reason: 'lock_held', code: -32_014 });
  expect(found()).toEqual([]);
  did({ operation: acquire, epoch: 5 }, { kind: 'refused', reason: 'lock_held', code: -32_014 });
  expect(found()).toEqual(['single_epoch']);
});

it('finds an earlier life that acts after a later one began', () => {
  const { did, found } = tell();
  did({ operation: { kind: 'register' }, epoch: 0 }, ok({ epoch: 5 }));
  did({ operation: { kind: 'heartbeat' }, epoch: 5 }, ok({}));
  did({ operation: { kind: 'register' }, epoch: 5 }, ok({ epoch: 6 }));
  did({ operation: { kind: 'heartbeat' }, epoch: 5 }, REFUSED);
  expect(found()).toEqual([]);
  did({ operation: { kind: 'heartbeat' }, epoch: 5 }, ok({}));
  expect(found()).toEqual(['single_epoch']);
});

describe('a subscriber', () => {
  const entries = [1, 2, 3].map((version) => {
    return { version, cause: `c${version}`, op: 'merge', update: {} };
  });
  const update = (version: number) => ({ kind: 'update', version, cause: `c${version}` }) as const;
  const gapUpTo = (version: number) =>
    [
      { kind: 'gap', version },
      { kind: 'snapshot', version },
    ] as const;

  it.for([
    ['everything', [update(1), update(2), update(3)], true],
    ['a gap although it kept up', [update(1), ...gapUpTo(2), update(3)], false],
    ['nothing but gaps', [1, 2, 3].flatMap(gapUpTo), false],
    ['a silent gap', [update(1), update(3)], false],
    ['less than there is', [update(1), update(2)], false],
    ['a double', [update(1), update(2), update(2), update(3)], false],
    ['the wrong order', [update(2), update(1), update(3)], false],
    [
      'the past after a gap',
      [update(1), update(2), { kind: 'gap', version: 1 }, update(2), update(3)],
      false,
    ],
    ['that its cursor is unknown', [update(1), { kind: 'forgotten', version: 1 }], false],
  ] as const)('that gets %s', ([, deliveries, isRight]) => {
    const { history, found } = tell();
    history.logs.set('s', { from: 0, entries });
    const deliver = history.subscribe('b', 's', 0);
    for (const delivery of deliveries) deliver(delivery);
    expect(found()).toEqual(isRight ? [] : ['delivered_once_and_whole']);
  });

  it.for([
    ['a snapshot instead', [{ kind: 'snapshot', version: 1_002 }], true],
    ['a newer snapshot instead', [{ kind: 'snapshot', version: 1_003 }], true],
    ['an older snapshot', [{ kind: 'snapshot', version: 1_001 }], false],
    ['no snapshot', [], false],
  ] as const)('that was more than 1,000 behind gets a gap and %s', ([, instead, isRight]) => {
    const { history, found } = tell();
    const late = [1, 2, 1_002, 1_003].map((version) => {
      return { version, cause: `c${version}`, op: 'merge', update: {} };
    });
    history.logs.set('s', { from: 0, entries: late });
    const deliver = history.subscribe('b', 's', 0);
    deliver(update(1));
    deliver({ kind: 'gap', version: 1_002 });
    for (const delivery of instead) deliver(delivery);
    deliver(update(1_003));
    expect(found()).toEqual(isRight ? [] : ['delivered_once_and_whole']);
  });

  it('that was exactly 1,000 behind has kept up', () => {
    const { history, found } = tell();
    const deliver = history.subscribe('b', 's', 0);
    deliver({ kind: 'gap', version: 1_000 });
    deliver({ kind: 'snapshot', version: 1_000 });
    expect(found()).toEqual(['delivered_once_and_whole']);
  });
});
