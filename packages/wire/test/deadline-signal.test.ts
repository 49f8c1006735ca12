import { getEventListeners } from 'node:events';
import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { type DeadlineSignal, deadlineSignal, timerWheelOf } from '../src/deadline.ts';

function world() {
  const clock = {
    time: 1_000.5,
    monotonic() {
      return this.time;
    },
  };
  const wheel = timerWheelOf(clock);
  const advance = (ms: number) => {
    clock.time += ms;
    wheel.run();
  };
  return { clock, wheel, advance };
}

describe('deadlineSignal', () => {
  it('aborts with a TIMEOUT once the time is over, and not before', () => {
    const { clock, advance } = world();
    const { signal } = deadlineSignal({ ms: 200, clock });
    advance(199.9);
    expect(signal.aborted).toBe(false);
    advance(17);
    expect(signal.aborted).toBe(true);
    expect(FabricError.is(signal.reason)).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'TIMEOUT', details: { timeout_ms: 200 } });
  });

  it('reports what was left of a longer deadline in whole milliseconds', () => {
    const { clock, advance } = world();
    const { signal } = deadlineSignal({ ms: 999.8875439999974, clock });
    advance(1_100);
    expect(signal.reason).toMatchObject({
      message: 'No answer within 1000 ms',
      details: { timeout_ms: 1_000 },
    });
  });

  it('aborts with the reason it was given, made only when needed', () => {
    const { clock, advance } = world();
    const reason = new FabricError('TIMEOUT', 'The attempt took too long');
    let made = 0;
    const make = () => {
      made += 1;
      return reason;
    };
    const first = deadlineSignal({ ms: 50, clock, reason });
    const second = deadlineSignal({ ms: 50, clock, reason: make });
    deadlineSignal({ ms: 50, clock, reason: make }).cancel();
    advance(100);
    expect(first.signal.reason).toBe(reason);
    expect(second.signal.reason).toBe(reason);
    expect(made).toBe(1);
  });

  it('passes the reason of its parent on', () => {
    const { clock, wheel } = world();
    const parent = new AbortController();
    const { signal } = deadlineSignal({ ms: 50, clock, parent: parent.signal });
    const reason = new FabricError('CANCELLED', 'The caller left');
    parent.abort(reason);
    expect(signal.reason).toBe(reason);
    expect(wheel.size).toBe(0);
    expect(getEventListeners(parent.signal, 'abort')).toEqual([]);
  });

  it('is aborted from the start when its parent is', () => {
    const { clock, wheel } = world();
    const parent = AbortSignal.abort(new FabricError('CANCELLED', 'The caller left'));
    const { signal } = deadlineSignal({ ms: 50, clock, parent });
    expect(signal.reason).toBe(parent.reason);
    expect(wheel.size).toBe(0);
  });

  it.each([0, -5, Number.NEGATIVE_INFINITY])('has passed at once with %d ms', (ms) => {
    const parent = new AbortController();
    const { signal } = deadlineSignal({ ms, parent: parent.signal });
    expect(signal.reason).toMatchObject({ code: 'TIMEOUT' });
    expect(getEventListeners(parent.signal, 'abort')).toEqual([]);
  });

  it('never passes with Infinity, but still follows its parent', () => {
    const { clock, wheel } = world();
    const parent = new AbortController();
    const { signal } = deadlineSignal({
      ms: Number.POSITIVE_INFINITY,
      clock,
      parent: parent.signal,
    });
    expect(wheel.size).toBe(0);
    parent.abort();
    expect(signal.aborted).toBe(true);
  });

  it('refuses a time that is no number', () => {
    expect(() => deadlineSignal({ ms: Number.NaN })).toThrow(FabricError);
  });

  it('does nothing after cancel, however often it is cancelled', () => {
    const { clock, advance } = world();
    const parent = new AbortController();
    const deadline = deadlineSignal({ ms: 50, clock, parent: parent.signal });
    deadline.cancel();
    deadline.cancel();
    advance(1_000);
    parent.abort();
    expect(deadline.signal.aborted).toBe(false);
  });

  it('ends with its block when it is declared with using', () => {
    const { clock, wheel } = world();
    {
      using deadline = deadlineSignal({ ms: 50, clock });
      expect([deadline.signal.aborted, wheel.size]).toEqual([false, 1]);
    }
    expect(wheel.size).toBe(0);
  });

  it('chains: an attempt ends when its call does, and the call outlives the attempt', () => {
    const { clock, advance } = world();
    const call = deadlineSignal({ ms: 300, clock });
    const first = deadlineSignal({ ms: 100, clock, parent: call.signal });
    advance(120);
    expect([first.signal.aborted, call.signal.aborted]).toEqual([true, false]);
    const second = deadlineSignal({ ms: 10_000, clock, parent: call.signal });
    advance(200);
    expect(second.signal.reason).toBe(call.signal.reason);
    expect(getEventListeners(call.signal, 'abort')).toEqual([]);
  });

  it('waits longer than a Node timer can', () => {
    const { clock, advance } = world();
    const { signal } = deadlineSignal({ ms: 2 ** 33, clock });
    advance(2 ** 33 - 1);
    expect(signal.aborted).toBe(false);
    advance(2 ** 33 / 64);
    expect(signal.aborted).toBe(true);
  });

  it('stops its clock until the last of several pauses ends', () => {
    const { clock, advance } = world();
    const deadline = deadlineSignal({ ms: 1_000, clock });
    advance(400);
    const [first, second] = [deadline.pause(), deadline.pause()];
    advance(5_000);
    first[Symbol.dispose]();
    advance(5_000);
    expect(deadline.remainingMs()).toBe(600);
    expect(deadline.signal.aborted).toBe(false);
    second[Symbol.dispose]();
    advance(500);
    expect(deadline.remainingMs()).toBe(100);
    expect(deadline.signal.aborted).toBe(false);
    advance(200);
    expect(deadline.signal.reason).toMatchObject({ code: 'TIMEOUT' });
  });

  it('ends with its parent during a pause', () => {
    const { clock, advance } = world();
    const parent = new AbortController();
    const deadline = deadlineSignal({ ms: 1_000, clock, parent: parent.signal });
    const pause = deadline.pause();
    parent.abort(new FabricError('CANCELLED', 'The caller left'));
    pause[Symbol.dispose]();
    advance(10_000);
    expect(deadline.signal.reason).toBe(parent.signal.reason);
  });

  it('leaves nothing behind when a pause ends after the deadline was cancelled', () => {
    const { clock, wheel, advance } = world();
    const parent = new AbortController();
    const deadline = deadlineSignal({ ms: 1_000, clock, parent: parent.signal });
    const pause = deadline.pause();
    deadline.cancel();
    pause[Symbol.dispose]();
    advance(10_000);
    expect(deadline.signal.aborted).toBe(false);
    expect(wheel.size).toBe(0);
    expect(getEventListeners(parent.signal, 'abort')).toEqual([]);
  });

  it('leaves nothing behind: 10,000 on one parent, created and cancelled', () => {
    const { clock, wheel } = world();
    const parent = new AbortController();
    const deadlines: DeadlineSignal[] = [];
    for (let index = 0; index < 10_000; index += 1) {
      deadlines.push(deadlineSignal({ ms: 10 + index, clock, parent: parent.signal }));
    }
    expect(wheel.size).toBe(10_000);
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(1);
    for (const deadline of deadlines) deadline.cancel();
    expect(wheel.size).toBe(0);
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0);
  });

  it('aborts 10,000 followers with their parent', () => {
    const parent = new AbortController();
    const deadlines = Array.from({ length: 10_000 }, () =>
      deadlineSignal({ ms: 60_000, parent: parent.signal }),
    );
    const waiting = timerWheelOf().size;
    parent.abort(new FabricError('CANCELLED', 'The gateway stops'));
    expect(deadlines.every(({ signal }) => signal.reason === parent.signal.reason)).toBe(true);
    expect(timerWheelOf().size).toBe(waiting - 10_000);
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0);
  });

  it('aborts at once when it is asked to, unless it was cancelled before', () => {
    const { clock, wheel } = world();
    const reason = new FabricError('CANCELLED', 'The caller left');
    const open = deadlineSignal({ ms: 200, clock });
    const cancelled = deadlineSignal({ ms: 200, clock });
    cancelled.cancel();
    for (const deadline of [open, cancelled]) deadline.abort(reason);
    expect(open.signal.reason).toBe(reason);
    expect(cancelled.signal.aborted).toBe(false);
    expect(wheel.size).toBe(0);
  });

  it('ends the wait for a promise that does not settle in time', async () => {
    const { clock, advance } = world();
    const deadline = deadlineSignal({ ms: 200, clock });
    await expect(deadline.until(Promise.resolve('answer'))).resolves.toBe('answer');
    const waiting = deadline.until(new Promise(() => {}));
    advance(217);
    await expect(waiting).rejects.toMatchObject({ code: 'TIMEOUT' });
    await expect(deadline.until(new Promise(() => {}))).rejects.toBe(deadline.signal.reason);
  });

  it('stops real work in real time', async () => {
    const start = performance.now();
    const { signal } = deadlineSignal({ ms: 30 });
    const hold = setInterval(() => {}, 1_000);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    clearInterval(hold);
    expect(performance.now() - start).toBeGreaterThanOrEqual(30);
    expect(FabricError.from(signal.reason).code).toBe('TIMEOUT');
  });
});
