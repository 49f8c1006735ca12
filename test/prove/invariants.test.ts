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
const REFUSED = { kind: 'refused', reason: 'stale_token' } as const;
const UNKNOWN = { kind: 'unknown', why: 'closed' } as const;
const acquire = { kind: 'acquire', resource: 'context' } as const;
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

  it.for([
    ['everything', [update(1), update(2), update(3)], true],
    ['a gap that is said', [update(1), { kind: 'gap', version: 2 }, update(3)], true],
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
});
