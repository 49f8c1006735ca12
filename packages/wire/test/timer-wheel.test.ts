import { AsyncLocalStorage } from 'node:async_hooks';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { TimerWheel, timerWheelOf } from '../src/deadline.ts';

class SteppedClock {
  time = 0;
  monotonic(): number {
    return this.time;
  }
}

const systemTime = { monotonic: () => performance.now() };

afterEach(() => {
  vi.useRealTimers();
});

describe('TimerWheel', () => {
  it('is never early, and late by at most 16 ms or 1/64 of the wait', () => {
    const waits = fc.array(fc.oneof(fc.nat(2_000), fc.integer({ min: 1, max: 2 ** 34 })));
    const steps = fc.array(fc.double({ min: 0.1, max: 2 ** 30, noNaN: true }), { maxLength: 40 });
    fc.assert(
      fc.property(
        waits,
        steps,
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        (waits, steps, at) => {
          const clock = new SteppedClock();
          clock.time = at;
          const wheel = new TimerWheel(clock);
          const expired = new Map<number, number>();
          for (const [index, ms] of waits.entries()) {
            wheel.schedule(ms, () => expired.set(index, clock.time));
          }
          for (const step of steps) {
            clock.time += step;
            wheel.run();
            for (const [index, ms] of waits.entries()) {
              const passed = clock.time - at;
              if (passed < ms) expect(expired.has(index)).toBe(false);
              if (passed >= ms + Math.max(16, ms / 64)) expect(expired.has(index)).toBe(true);
            }
          }
          expect(wheel.size).toBe(waits.length - expired.size);
          clock.time = Number.MAX_SAFE_INTEGER;
          wheel.run();
          expect(wheel.size).toBe(0);
        },
      ),
    );
  });

  it('expires in the order of time after a long pause', () => {
    const clock = new SteppedClock();
    const wheel = new TimerWheel(clock);
    const order: number[] = [];
    for (const ms of [90_000, 5, 3_000, 700, 20]) wheel.schedule(ms, () => order.push(ms));
    clock.time = 200_000;
    wheel.run();
    expect(order).toEqual([5, 20, 700, 3_000, 90_000]);
  });

  it('forgets a timer that is unlinked, even by a neighbour that expires with it', () => {
    const clock = new SteppedClock();
    const wheel = new TimerWheel(clock);
    const expired: string[] = [];
    const second = () => later.unlink();
    wheel.schedule(10, () => expired.push('first'));
    wheel.schedule(10, second);
    const later = wheel.schedule(10, () => expired.push('later'));
    clock.time = 50;
    wheel.run();
    expect(expired).toEqual(['first']);
    expect(wheel.size).toBe(0);
  });

  it('takes new timers while it expires others', () => {
    const clock = new SteppedClock();
    const wheel = new TimerWheel(clock);
    let ticks = 0;
    const tick = () => {
      ticks += 1;
      wheel.schedule(10, tick);
    };
    tick();
    for (const time of [100, 200, 300]) {
      clock.time = time;
      wheel.run();
    }
    expect([ticks, wheel.size]).toEqual([4, 1]);
  });

  it('lets no failing timer hold up the others', () => {
    const clock = new SteppedClock();
    const wheel = new TimerWheel(clock);
    let reached = 0;
    wheel.schedule(10, () => {
      throw new Error('broken');
    });
    wheel.schedule(10, () => {
      reached += 1;
    });
    wheel.schedule(50, () => {
      reached += 1;
    });
    clock.time = 100;
    expect(() => wheel.run()).toThrow('broken');
    expect(reached).toBe(2);
  });

  it('needs one Node timer for all, and none when nothing waits', () => {
    vi.useFakeTimers();
    const clock = new SteppedClock();
    const wheel = new TimerWheel(clock);
    const timers = Array.from({ length: 1_000 }, (_, index) =>
      wheel.schedule(index * 90, () => {}),
    );
    expect(vi.getTimerCount()).toBe(1);
    for (const timer of timers) timer.unlink();
    wheel.run();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('runs by itself in real time', async () => {
    const wheel = new TimerWheel(systemTime);
    const order: string[] = [];
    const start = performance.now();
    await new Promise<void>((resolve) => {
      wheel.schedule(60, () => {
        order.push('long');
        resolve();
      });
      wheel.schedule(5, () => order.push('short'));
      wheel.schedule(2 ** 40, () => order.push('never'));
      keepAliveUntil(() => order.includes('long'));
    });
    expect(order).toEqual(['short', 'long']);
    expect(performance.now() - start).toBeGreaterThanOrEqual(60);
    expect(wheel.size).toBe(1);
  });

  it('wakes for a timer that is due before those it already has', () => {
    vi.useFakeTimers();
    const wheel = new TimerWheel(systemTime);
    const expired: number[] = [];
    for (const ms of [60_000, 500, 5]) wheel.schedule(ms, () => expired.push(ms));
    vi.advanceTimersByTime(50);
    expect(expired).toEqual([5]);
    vi.advanceTimersByTime(500);
    expect(expired).toEqual([5, 500]);
  });

  it('waits longer than a Node timer can', () => {
    vi.useFakeTimers();
    const wheel = new TimerWheel(systemTime);
    let expired = false;
    wheel.schedule(2 ** 31 + 1_000, () => {
      expired = true;
    });
    vi.advanceTimersByTime(2 ** 31);
    expect(expired).toBe(false);
    vi.advanceTimersByTime(2 ** 27);
    expect(expired).toBe(true);
  });

  it('expires in no caller’s async context', async () => {
    const context = new AsyncLocalStorage<string>();
    const wheel = new TimerWheel(systemTime);
    const seen = await new Promise((resolve) => {
      context.run('a call', () => wheel.schedule(5, () => resolve(context.getStore())));
      keepAliveUntil(() => wheel.size === 0);
    });
    expect(seen).toBeUndefined();
  });

  it('does not keep the process alive', async () => {
    const module = new URL('../src/deadline.ts', import.meta.url).href;
    const script = `import { timerWheelOf } from '${module}';
      timerWheelOf().schedule(3_600_000, () => {}); console.log('waits', timerWheelOf().size);`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--conditions=@starloom/source', '--input-type=module', '--eval', script],
      { timeout: 15_000 },
    );
    expect(stdout.trim()).toBe('waits 1');
  });

  it('is one per clock, and one for the process', () => {
    const clock = new SteppedClock();
    expect(timerWheelOf(clock)).toBe(timerWheelOf(clock));
    expect(timerWheelOf(new SteppedClock())).not.toBe(timerWheelOf(clock));
    expect(timerWheelOf()).toBe(timerWheelOf());
  });
});

/** The wheel alone does not hold the event loop; a test that waits for it must. */
function keepAliveUntil(done: () => boolean): void {
  const timer = setInterval(() => {
    if (done()) clearInterval(timer);
  }, 5);
}
