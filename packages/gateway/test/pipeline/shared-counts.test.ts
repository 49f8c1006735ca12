import { toRealmStore } from '@starloom/coordination';
import { MemoryCoordinationStore } from '@starloom/coordination/testing';
import { Closers, FabricError, type LogFields, silentLog } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import type { Principal } from '@starloom/identity';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gatewayConfigSchema } from '../../src/index.ts';
import { CallLimits } from '../../src/pipeline/limits.ts';
import { SharedCounts } from '../../src/pipeline/shared-counts.ts';

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
const ada: Principal = { id: 'ada', mode: 'psk', tier: 'org', scopes: ['*'], keyId: 'ada' };

describe('limits of principals at gateways that share a store', () => {
  let clock: ManualClock;
  let store: MemoryCoordinationStore;
  let opened: Closers;
  let isAway: boolean;
  let warnings: string[];

  beforeEach(() => {
    clock = new ManualClock();
    store = new MemoryCoordinationStore({ clock });
    opened = new Closers();
    isAway = false;
    warnings = [];
  });

  afterEach(() => opened.close());

  const open = (given: Record<string, unknown>) => {
    const parsed = gatewayConfigSchema.parse({ limits: given }).limits;
    const limits = new CallLimits({ limits: parsed, clock, onLimited: () => {}, isShared: true });
    const realm = toRealmStore(store);
    const read: typeof realm.read = async (...args) => {
      if (isAway) throw new FabricError('OVERLOADED', 'The store is away');
      return await realm.read(...args);
    };
    const warn = (_: LogFields, message: string) => void warnings.push(message);
    const log = { ...silentLog, warn };
    const { sources } = limits;
    const counts = new SharedCounts({ realm: { ...realm, read }, sources, log });
    opened.add(() => counts.close());
    return { limits, counts };
  };
  const isLetIn = (charge: () => void): boolean => {
    try {
      charge();
      return true;
    } catch (error) {
      expect(FabricError.from(error).code).toBe('RATE_LIMITED');
      return false;
    }
  };
  const admitted = ({ limits }: ReturnType<typeof open>, calls: number) =>
    Array.from({ length: calls }).filter(() => isLetIn(() => limits.admit(ada))).length;
  const spend = ({ limits }: ReturnType<typeof open>, cost: number) =>
    isLetIn(() => limits.spend(ada, cost));

  it('let a principal in as often together as one alone would, but for what is under way', async () => {
    const rate = { calls: 10, seconds: 1 };
    const gateways = [open({ rate_per_principal: rate }), open({ rate_per_principal: rate })];
    let total = 0;
    for (let second = 0; second < 60; second += 1) {
      for (const gateway of gateways) total += admitted(gateway, 20);
      for (const { counts } of gateways) await counts.share();
      clock.advance(SECOND_MS);
    }
    const alone = 60 * rate.calls;
    expect(total).toBeGreaterThanOrEqual(alone);
    expect(total).toBeLessThanOrEqual(alone + 4 * rate.calls);
  });

  it('leave a principal its whole rate at one gateway, also after it was elsewhere for long', async () => {
    const rate = { calls: 10, seconds: 1 };
    const [here, there] = [open({ rate_per_principal: rate }), open({ rate_per_principal: rate })];
    const served: number[] = [];
    admitted(there, 1);
    await there.counts.share();
    clock.advance(SECOND_MS);
    for (let second = 0; second < 30; second += 1) {
      served.push(admitted(here, 20));
      await here.counts.share();
      clock.advance(SECOND_MS);
    }
    expect(served.every((calls) => calls === rate.calls)).toBe(true);
    expect(admitted(there, 1)).toBe(1);
    await there.counts.share();
    clock.advance(SECOND_MS);
    expect(admitted(there, 20)).toBe(rate.calls);
  });

  it('know at a gateway that a principal comes to later what it used before', async () => {
    const rate = { calls: 5, seconds: 3_600 };
    const [here, there] = [open({ rate_per_principal: rate }), open({ rate_per_principal: rate })];
    expect(admitted(here, 9)).toBe(5);
    await here.counts.share();
    expect(admitted(there, 1)).toBe(1);
    await there.counts.share();
    expect(admitted(there, 9)).toBe(0);
  });

  it('have one budget of a day, also for a gateway that starts later', async () => {
    const [here, there] = [open({ cost_per_principal: 10 }), open({ cost_per_principal: 10 })];
    expect([spend(here, 4), spend(there, 4)]).toEqual([true, true]);
    await here.counts.share();
    await there.counts.share();
    expect([spend(there, 4), spend(there, 2)]).toEqual([false, true]);
    await there.counts.share();
    const late = open({ cost_per_principal: 10 });
    expect(spend(late, 1)).toBe(true);
    await late.counts.share();
    expect(spend(late, 1)).toBe(false);
    clock.advance(DAY_MS);
    expect(spend(there, 10)).toBe(true);
  });

  it('take back what was no call', async () => {
    const [here, there] = [open({ cost_per_principal: 10 }), open({ cost_per_principal: 10 })];
    expect(spend(here, 9)).toBe(true);
    await here.counts.share();
    here.limits.giveBack(ada, 9);
    await here.counts.share();
    expect(spend(there, 1)).toBe(true);
    await there.counts.share();
    expect(spend(there, 9)).toBe(true);
  });

  it('are counted by each alone while the store is away, and together when it is back', async () => {
    const [here, there] = [open({ cost_per_principal: 10 }), open({ cost_per_principal: 10 })];
    isAway = true;
    expect(spend(here, 6)).toBe(true);
    await here.counts.share();
    await here.counts.share();
    expect(warnings).toEqual(['rates and costs are counted by this gateway alone']);
    isAway = false;
    await here.counts.share();
    expect(spend(there, 2)).toBe(true);
    await there.counts.share();
    expect([spend(there, 3), spend(there, 2)]).toEqual([false, true]);
  });

  it('lose nothing when gateways write at the same moment', async () => {
    const gateways = Array.from({ length: 4 }, () => open({ cost_per_principal: 100 }));
    for (const gateway of gateways) spend(gateway, 10);
    await Promise.all(gateways.map(({ counts }) => counts.share()));
    await Promise.all(gateways.map(({ counts }) => counts.share()));
    const [first] = gateways;
    expect(first && [spend(first, 1)]).toEqual([true]);
    await first?.counts.share();
    expect(first && [spend(first, 60), spend(first, 59)]).toEqual([false, true]);
  });

  it('are not asked of the store where none is set', async () => {
    const here = open({});
    isAway = true;
    admitted(here, 100);
    await here.counts.share();
    expect(warnings).toEqual([]);
  });
});
