import { describe, expect, it } from 'vitest';
import { LoopTurnBudget } from '../src/index.ts';

const STREAMS = 40;
const EVENTS = 25;

describe('turn budget', () => {
  it('[G9] gives everything else its turn, however many streams never pause', async () => {
    let time = 0;
    const budget = new LoopTurnBudget({ ms: 5, now: () => time });
    const perTurn = [0];
    let isRunning = true;
    const count = () => {
      perTurn.push(0);
      if (isRunning) setImmediate(count);
    };
    setImmediate(count);
    const stream = async () => {
      for (let event = 0; event < EVENTS; event += 1) {
        time += 1;
        perTurn[perTurn.length - 1] = (perTurn.at(-1) ?? 0) + 1;
        await budget.rest();
      }
    };
    await Promise.all(Array.from({ length: STREAMS }, stream));
    isRunning = false;
    expect(perTurn.reduce((sum, events) => sum + events, 0)).toBe(STREAMS * EVENTS);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(STREAMS + 5);
  });

  it('lets streams that wait go on in the order in which they came', async () => {
    let time = 0;
    const budget = new LoopTurnBudget({ ms: 1, now: () => time });
    const order: number[] = [];
    const stream = async (id: number) => {
      for (let event = 0; event < 3; event += 1) {
        time += 1;
        order.push(id);
        await budget.rest();
        await budget.rest();
      }
    };
    await Promise.all([stream(1), stream(2), stream(3)]);
    expect(order.toSorted()).toEqual([1, 1, 1, 2, 2, 2, 3, 3, 3]);
    expect(order.slice(0, 3)).toEqual([1, 2, 3]);
  });

  it('does not stop a stream that is slow', () => {
    const budget = new LoopTurnBudget({ ms: 5, now: () => 0 });
    for (let event = 0; event < 10; event += 1) expect(budget.rest()).toBeUndefined();
  });
});
