import { getEventListeners } from 'node:events';
import { FabricError } from '@starloom/core';
import { timerWheelOf } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { TurnTime } from '../../src/core/turn-time.ts';

const OVER = new FabricError('TIMEOUT', 'The time is over');
const LEFT = new FabricError('CANCELLED', 'The caller left');

function world(ms = 1_000) {
  const clock = {
    time: 0,
    monotonic() {
      return this.time;
    },
    now: () => 0,
  };
  const parent = new AbortController();
  const time = new TurnTime({ ms, parent: parent.signal, reason: () => OVER, clock });
  const wheel = timerWheelOf(clock);
  const advance = (by: number) => {
    clock.time += by;
    wheel.run();
  };
  return { time, parent, wheel, advance };
}

describe('the time of a turn', () => {
  it('is over when it has passed, and not before', () => {
    const { time, advance } = world();
    advance(900);
    expect(time.signal.aborted).toBe(false);
    expect(time.remainingMs()).toBe(100);
    advance(150);
    expect(time.signal.reason).toBe(OVER);
  });

  it('stands still until the last of those who are asked has answered', () => {
    const { time, advance } = world();
    advance(400);
    const [first, second] = [time.pause(), time.pause()];
    advance(5_000);
    first[Symbol.dispose]();
    advance(5_000);
    expect(time.remainingMs()).toBe(600);
    expect(time.signal.aborted).toBe(false);
    second[Symbol.dispose]();
    advance(500);
    expect(time.signal.aborted).toBe(false);
    advance(200);
    expect(time.signal.reason).toBe(OVER);
  });

  it('ends with the turn that is cancelled, also while a person is asked', () => {
    const { time, parent, advance } = world();
    const pause = time.pause();
    parent.abort(LEFT);
    pause[Symbol.dispose]();
    advance(10_000);
    expect(time.signal.reason).toBe(LEFT);
  });

  it('leaves nothing behind, even when an answer comes after the end', () => {
    const { time, parent, wheel, advance } = world();
    const pause = time.pause();
    time[Symbol.dispose]();
    pause[Symbol.dispose]();
    advance(10_000);
    expect(time.signal.aborted).toBe(false);
    expect(wheel.size).toBe(0);
    expect(getEventListeners(parent.signal, 'abort')).toEqual([]);
  });
});
