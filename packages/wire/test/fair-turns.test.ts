import { describe, expect, it, vi } from 'vitest';
import { atTurnEnd, FairTurns, type FairTurnsOptions } from '../src/index.ts';

const STREAMS = 40;
const EVENTS = 25;

/** Turns whose time goes on only when work is done, and what was done in each turn of the event loop. */
function openTurns(options: FairTurnsOptions) {
  let time = 0;
  let isRunning = true;
  const turns = new FairTurns({ ...options, now: () => time });
  const done: string[][] = [[]];
  const count = () => {
    done.push([]);
    if (isRunning) setImmediate(count);
  };
  setImmediate(count);
  return {
    turns,
    done,
    pass(ms: number) {
      time += ms;
    },
    async work(caller: string, ms = 1): Promise<void> {
      const turn = turns.enter(caller);
      if (turn) await turn;
      done.at(-1)?.push(caller);
      time += ms;
    },
    [Symbol.dispose]() {
      isRunning = false;
    },
  };
}

describe('fair turns', () => {
  it('[G9] give everything else its turn, however many streams never pause', async () => {
    using world = openTurns({ ms: 5 });
    const stream = async () => {
      for (let event = 0; event < EVENTS; event += 1) await world.work('');
    };
    await Promise.all(Array.from({ length: STREAMS }, stream));
    expect(world.done.flat()).toHaveLength(STREAMS * EVENTS);
    expect(Math.max(...world.done.map(({ length }) => length))).toBeLessThanOrEqual(2 * 5);
  });

  it('let a caller with one request go before the second of one with a thousand', async () => {
    using world = openTurns({ ms: 2 });
    const flood = Array.from({ length: 1_000 }, () => world.work('flood'));
    await world.work('ordinary');
    const before = world.done.flat().filter((caller) => caller === 'flood');
    expect(before.length).toBeLessThanOrEqual(3);
    await Promise.all(flood);
  });

  it('let few begin before any of it is done, by caller in rotation', async () => {
    using world = openTurns({ ms: 2 });
    const served: string[] = [];
    const serve = async (caller: string) => {
      await world.turns.enter(caller);
      world.pass(1);
      served.push(caller);
    };
    const flood = Array.from({ length: 100 }, () => serve('flood'));
    await Promise.all([...flood, serve('ordinary')]);
    expect(served.indexOf('ordinary')).toBeLessThanOrEqual(10);
  });

  it('let a caller with few go on at once while new connections shorten the turns', async () => {
    using world = openTurns({ ms: 2 });
    const flood = Array.from({ length: 100 }, () => world.work('flood', 0.1));
    world.turns.hurry();
    const ordinary = Array.from({ length: 4 }, () => world.work('ordinary', 0.1));
    while (world.done.flat().length < flood.length + ordinary.length) {
      world.pass(0.1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const turnsOf = world.done.filter((turn) => turn.includes('ordinary'));
    expect(turnsOf).toHaveLength(1);
  });

  it('are short while one caller with many waits beside others', async () => {
    const most = async (...callers: string[]) => {
      using world = openTurns({ ms: 4 });
      await Promise.all(callers.map((caller) => world.work(caller, 0.5)));
      // Those that come together begin together.
      const [, ...later] = world.done.filter(({ length }) => length > 0);
      return Math.max(...later.map(({ length }) => length));
    };
    const flood = Array.from({ length: 60 }, () => 'flood');
    expect(await most('ordinary', ...flood)).toBeLessThanOrEqual(4);
    expect(await most(...flood)).toBeGreaterThan(4);
    expect(
      await most(...Array.from({ length: 60 }, (_, index) => `caller ${index}`)),
    ).toBeGreaterThan(4);
  });

  it('leave half of the time to what comes one per turn', async () => {
    using world = openTurns({ ms: 2 });
    const all = Promise.all(Array.from({ length: 20 }, () => world.work('flood', 1)));
    const before = world.done.length;
    let accepted = 0;
    for (let isOver = false; !isOver; accepted += 1) {
      world.turns.hurry();
      world.pass(0.1);
      isOver = world.done.flat().length === 20;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await all;
    expect(accepted).toBeGreaterThan(150);
    expect(world.done.slice(before).every(({ length }) => length <= 1)).toBe(true);
  });

  it('begin together what came in one turn, and write its results in the same turn', async () => {
    using world = openTurns({ gathers: true });
    const written: string[] = [];
    const serve = async (caller: string) => {
      await world.work(caller, 0.1);
      atTurnEnd(() => written.push(caller));
    };
    const served = ['one', 'two', 'one'].map(serve);
    await Promise.resolve();
    expect(world.done.flat()).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(world.done.filter(({ length }) => length > 0)).toEqual([['one', 'two', 'one']]);
    expect(written).toEqual(['one', 'two', 'one']);
    await Promise.all(served);
  });

  it('begin few of what was gathered while one caller with many waits beside others', async () => {
    using world = openTurns({ gathers: true });
    const flood = Array.from({ length: 200 }, () => world.work('flood', 0.2));
    await Promise.all([...flood, world.work('ordinary', 0.2)]);
    const [first = []] = world.done.filter(({ length }) => length > 0);
    expect(first.indexOf('ordinary')).toBeLessThan(8);
    expect(first.length).toBeLessThanOrEqual(16);
  });

  it('begin no more of what was gathered beside others than fits a turn, however long it takes', async () => {
    using world = openTurns({ gathers: true });
    const ordinary = async () => {
      for (let call = 0; call < 4; call += 1) await world.work('ordinary', 0.1);
    };
    await ordinary();
    const flood = Array.from({ length: 40 }, () => world.work('flood', 5));
    await ordinary();
    const floods = world.done.map((turn) => turn.filter((caller) => caller === 'flood').length);
    expect(Math.max(...floods)).toBeLessThanOrEqual(2);
    expect(floods.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(8);
    await Promise.all(flood);
  });

  it('let work of one caller go on in the order in which it came', async () => {
    const turns = new FairTurns({ ms: 0 });
    const order: number[] = [];
    const work = async (n: number) => {
      await turns.enter('caller');
      order.push(n);
    };
    await Promise.all([1, 2, 3, 4, 5].map(work));
    expect(order).toEqual([1, 2, 3, 4, 5]);
  });

  it('let one begin per turn where no time is given', async () => {
    using world = openTurns({ ms: 0 });
    await Promise.all(Array.from({ length: 10 }, (_, n) => world.work(`caller ${n}`)));
    expect(Math.max(...world.done.map(({ length }) => length))).toBe(1);
  });

  it.for([
    { beside: 'nothing', restMs: 5 },
    { beside: 'other work', restMs: 10 },
  ])('rest so that others have as much of the loop, or more: beside $beside', async (given) => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const restsBeside = new FairTurns();
    using world = openTurns({ ms: 0, restsBeside });
    if (given.beside !== 'nothing') await restsBeside.enter('another');
    const all = Array.from({ length: 3 }, () => world.work('caller', 5));
    for (const done of [1, 2, 3]) {
      await vi.advanceTimersByTimeAsync(given.restMs - 1);
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resume) => setImmediate(resume));
      expect(world.done.flat()).toHaveLength(done);
      await vi.advanceTimersByTimeAsync(1);
    }
    await Promise.all(all);
    vi.useRealTimers();
  });

  it('do not hold up work that comes slowly', async () => {
    const turns = new FairTurns({ ms: 5, now: () => 0 });
    for (let event = 0; event < 20; event += 1) {
      expect(turns.enter()).toBeUndefined();
      await new Promise((resolve) => process.nextTick(resolve));
    }
  });
});
