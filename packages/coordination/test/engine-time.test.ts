import type { Clock } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { engineTime } from '../src/engine/machine-store.ts';
import { MemoryCoordinationStore } from '../src/testing.ts';

/** A wall clock that can be set, beside time that goes on. */
class SetClock extends ManualClock {
  #setBy = 0;

  override now(): number {
    return super.now() + this.#setBy;
  }

  set(ms: number): void {
    this.#setBy += ms;
  }
}

describe("an engine's time", () => {
  it('does not follow the wall clock when that is set forward', () => {
    const clock = new SetClock(1_000);
    const now = engineTime(clock);
    expect(now()).toBe(1_000);
    clock.advance(5);
    expect(now()).toBe(1_005);
    clock.set(300_000);
    expect(now()).toBe(1_005);
    clock.advance(1_000);
    expect(now()).toBe(2_015);
  });

  it('is where the wall clock is after that was set forward by mistake and back again', () => {
    const clock = new SetClock(1_000);
    const now = engineTime(clock);
    clock.set(3_600_000);
    now();
    clock.advance(10_000);
    now();
    clock.set(-3_600_000);
    clock.advance(1_000);
    expect(now() - clock.now()).toBeLessThanOrEqual(100);
  });

  it('catches up with the wall clock by one percent, and then goes with it', () => {
    const clock = new SetClock(1_000);
    const now = engineTime(clock);
    clock.set(1_000);
    for (let second = 0; second < 50; second += 1) {
      clock.advance(1_000);
      now();
    }
    expect(clock.now() - now()).toBe(500);
    for (let second = 0; second < 100; second += 1) {
      clock.advance(1_000);
      now();
    }
    expect(clock.now() - now()).toBe(0);
  });

  it('goes on as fast as ever when the wall clock is set back, until that has caught up', () => {
    const clock = new SetClock(100_000);
    const now = engineTime(clock);
    expect(now()).toBe(100_000);
    clock.set(-60_000);
    expect(now()).toBe(100_000);
    clock.advance(1_000);
    expect(now()).toBe(101_000);
    clock.set(60_000);
    expect(now()).toBe(101_000);
    clock.advance(1_000);
    expect(now()).toBe(102_000);
  });

  it('goes on from a later time than the wall clock has', () => {
    const clock = new SetClock(1_000);
    const now = engineTime(clock, 3_600_000);
    expect(now()).toBe(3_600_000);
    clock.advance(250);
    expect(now()).toBe(3_600_250);
  });

  it('is in whole milliseconds, loses none of them, and never steps back', () => {
    const times = { wall: 1_000, monotonic: 0.25 };
    const clock: Clock = { now: () => times.wall, monotonic: () => times.monotonic };
    const now = engineTime(clock, 2_000);
    const seen: number[] = [];
    for (let n = 1; n <= 1_000; n += 1) {
      times.monotonic = 0.25 + n * 0.1;
      times.wall -= n % 7;
      seen.push(now());
    }
    expect(seen.every(Number.isInteger)).toBe(true);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(seen.at(-1)).toBe(2_100);
  });
});

it('a lease ends after its time although the wall clock was set back', async () => {
  const clock = new SetClock();
  const store = new MemoryCoordinationStore({ clock });
  const lock = { resource: 'context', mode: 'exclusive', ttlMs: 1_000 } as const;
  await store.acquire('p', { ...lock, holder: 'alice' });
  clock.set(-3_600_000);
  clock.advance(999);
  expect(await store.leases('p')).toHaveLength(1);
  clock.advance(1);
  expect(await store.leases('p')).toHaveLength(0);
  expect(await store.acquire('p', { ...lock, holder: 'bob' })).toHaveProperty('lease');
});

it('a lease does not end because the wall clock was set forward', async () => {
  const clock = new SetClock();
  const store = new MemoryCoordinationStore({ clock });
  const lock = { resource: 'context', mode: 'exclusive', ttlMs: 60_000 } as const;
  await store.acquire('p', { ...lock, holder: 'alice' });
  clock.set(300_000);
  clock.advance(59_000);
  expect(await store.leases('p')).toHaveLength(1);
  clock.advance(1_000);
  expect(await store.leases('p')).toHaveLength(0);
});
