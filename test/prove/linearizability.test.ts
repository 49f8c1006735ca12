import { describe, expect, it } from 'vitest';
import {
  checkLinearizable,
  type Model,
  type Timed,
} from '../../prove/coordination/linearizability.ts';

type Call =
  | { readonly write: number }
  | { readonly read: number }
  | { readonly swap: readonly [from: number, to: number]; readonly done: boolean };

const register: Model<number, Call> = {
  initial: 0,
  keyOf: String,
  step(state, call) {
    if ('write' in call) return call.write;
    if ('read' in call) return call.read === state ? state : undefined;
    const [from, to] = call.swap;
    if (call.done !== (from === state)) return undefined;
    return call.done ? to : state;
  },
};

const OPEN = Number.POSITIVE_INFINITY;

function at(invokedAt: number, returnedAt: number, call: Call): Timed<Call> {
  return { call, invokedAt, returnedAt };
}

function judge(...history: Timed<Call>[]) {
  return checkLinearizable(register, history).kind;
}

describe('a register that is linearizable', () => {
  it.for<[string, Timed<Call>[]]>([
    ['nothing at all', []],
    ['one after the other', [at(0, 1, { write: 1 }), at(2, 3, { read: 1 })]],
    ['a read beside a write sees the old value', [at(0, 9, { write: 1 }), at(1, 2, { read: 0 })]],
    ['a read beside a write sees the new value', [at(0, 9, { write: 1 }), at(1, 2, { read: 1 })]],
    [
      'two writes at once, in the order that the reads show',
      [at(0, 9, { write: 1 }), at(0, 9, { write: 2 }), at(10, 11, { read: 1 })],
    ],
    [
      'reads beside two writes that see both, one after the other',
      [
        at(0, 20, { write: 1 }),
        at(0, 20, { write: 2 }),
        at(1, 5, { read: 2 }),
        at(6, 9, { read: 1 }),
      ],
    ],
    [
      'a write without an answer that took effect much later',
      [
        at(0, OPEN, { write: 1 }),
        at(5, 6, { read: 0 }),
        at(100, 101, { read: 1 }),
        at(102, 103, { read: 1 }),
      ],
    ],
    [
      'a write without an answer that never took effect',
      [at(0, OPEN, { write: 1 }), at(5, 6, { read: 0 })],
    ],
    [
      'of two swaps at once one that failed',
      [at(0, 9, { swap: [0, 1], done: true }), at(0, 9, { swap: [0, 2], done: false })],
    ],
  ])('passes: %s', ([, history]) => {
    expect(judge(...history)).toBe('linearizable');
  });
});

describe('a register that is not linearizable', () => {
  it.for<[string, Timed<Call>[]]>([
    ['a read after the write sees the old value', [at(0, 1, { write: 1 }), at(2, 3, { read: 0 })]],
    ['a read from the future', [at(0, 1, { read: 1 }), at(2, 3, { write: 1 })]],
    ['a value that nobody wrote', [at(0, 1, { write: 1 }), at(2, 3, { read: 7 })]],
    [
      'a new value seen, then the old one again',
      [at(0, 20, { write: 1 }), at(1, 2, { read: 1 }), at(3, 4, { read: 0 })],
    ],
    [
      'two readers who see two writes in different orders',
      [
        at(0, 30, { write: 1 }),
        at(0, 30, { write: 2 }),
        at(1, 2, { read: 1 }),
        at(3, 4, { read: 2 }),
        at(5, 6, { read: 1 }),
      ],
    ],
    [
      'two swaps from the same value that were both done',
      [at(0, 9, { swap: [0, 1], done: true }), at(0, 9, { swap: [0, 2], done: true })],
    ],
    [
      'a write without an answer that took effect and vanished',
      [at(0, OPEN, { write: 1 }), at(5, 6, { read: 1 }), at(7, 8, { read: 0 })],
    ],
    ['an effect before its call', [at(1, 2, { read: 1 }), at(3, OPEN, { write: 1 })]],
  ])('is found out: %s', ([, history]) => {
    expect(judge(...history)).toBe('violation');
  });

  it('is shown with the calls that fit last and those that do not fit', () => {
    const [write, read, stale] = [
      at(0, 1, { write: 1 }),
      at(2, 3, { read: 1 }),
      at(4, 5, { read: 0 }),
    ];
    const verdict = checkLinearizable(register, [write, read, stale]);
    expect(verdict).toEqual({ kind: 'violation', last: [write, read], stuck: [stale] });
  });
});

it('gives up rather than search for ever', () => {
  const writes = Array.from({ length: 20 }, (_, value) => at(0, 100, { write: value }));
  const verdict = checkLinearizable(register, [...writes, at(200, 201, { read: -1 })], 1_000);
  expect(verdict).toEqual({ kind: 'undecided', steps: 1_000 });
});

it('agrees with trying every order, on small histories of all kinds', () => {
  let violations = 0;
  for (let seed = 0; seed < 2_000; seed += 1) {
    const history = smallHistory(seed);
    const expected = someOrderFits(history, register.initial) ? 'linearizable' : 'violation';
    if (expected === 'violation') violations += 1;
    expect({ seed, kind: judge(...history) }).toEqual({ seed, kind: expected });
  }
  expect(violations).toBeGreaterThan(100);
  expect(violations).toBeLessThan(1_900);
});

function smallHistory(seed: number): Timed<Call>[] {
  let state = seed * 2_654_435_761 + 1;
  const below = (count: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
  return Array.from({ length: 5 }, () => {
    const invokedAt = below(12);
    const isOpen = below(6) === 0;
    const end = isOpen ? OPEN : invokedAt + 1 + below(6) + 0.5;
    if (below(2) === 0) return at(invokedAt, end, { write: below(3) });
    return at(invokedAt, isOpen ? invokedAt + 0.5 : end, { read: below(3) });
  });
}

function someOrderFits(left: readonly Timed<Call>[], state: number): boolean {
  if (left.every(({ returnedAt }) => returnedAt === OPEN)) return true;
  const due = Math.min(...left.map(({ returnedAt }) => returnedAt));
  return left.some((timed) => {
    if (timed.invokedAt > due) return false;
    const next = register.step(state, timed.call);
    return (
      next !== undefined &&
      someOrderFits(
        left.filter((each) => each !== timed),
        next,
      )
    );
  });
}
