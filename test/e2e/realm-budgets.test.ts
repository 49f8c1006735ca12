import { toRealmStore } from '@starloom/coordination';
import { MemoryCoordinationStore } from '@starloom/coordination/testing';
import { FabricError, type LogFields, silentLog } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { TraceBudgets } from '@starloom/identity';
import { beforeEach, describe, expect, it } from 'vitest';
import { AwayStore } from './realm-world.ts';

describe('the budget of a trace at gateways that share a store', () => {
  let clock: ManualClock;
  let store: MemoryCoordinationStore;
  let warnings: string[];

  beforeEach(() => {
    clock = new ManualClock();
    store = new MemoryCoordinationStore({ clock });
    warnings = [];
  });

  const open = (calls = 5) => {
    const realm = new AwayStore(toRealmStore(store));
    const warn = (_: LogFields, message: string) => void warnings.push(message);
    const log = { ...silentLog, warn };
    const limit = { calls, ms: 60_000 };
    return { realm, budgets: new TraceBudgets({ limit, clock, realm, log }) };
  };
  /** `ok`, or what of the budget is spent. */
  const spend = async ({ budgets }: ReturnType<typeof open>, principal = 'ada', trace = 't') => {
    try {
      await budgets.spendTogether(principal, trace);
      return 'ok';
    } catch (error) {
      return String(FabricError.from(error).details.of);
    }
  };
  const times = async (count: number, gateway: ReturnType<typeof open>) => {
    const answers = await Promise.all(Array.from({ length: count }, () => spend(gateway)));
    return answers.filter((answer) => answer === 'ok').length;
  };

  it('is spent by all of them together', async () => {
    const [here, there] = [open(), open()];
    expect([await times(2, here), await times(2, there)]).toEqual([2, 2]);
    expect([await spend(here), await spend(there), await spend(here)]).toEqual([
      'ok',
      'calls',
      'calls',
    ]);
  });

  it('is never spent twice, however many calls come at once', async () => {
    const gateways = [open(50), open(50), open(50)];
    const served = await Promise.all(gateways.map((gateway) => times(40, gateway)));
    expect(served.reduce((sum, count) => sum + count, 0)).toBe(50);
  });

  it('belongs to one principal and one trace', async () => {
    const [here, there] = [open(1), open(1)];
    expect(await spend(here)).toBe('ok');
    expect(await spend(there, 'ada', 'other')).toBe('ok');
    expect(await spend(there, 'bob', 't')).toBe('ok');
    expect(await spend(there)).toBe('calls');
  });

  it('has one end for all of them', async () => {
    const [here, there] = [open(), open()];
    expect(await spend(here)).toBe('ok');
    clock.advance(40_000);
    expect(await spend(there)).toBe('ok');
    clock.advance(20_000);
    expect(await spend(there)).toBe('time');
  });

  it('counts calls with keys, too, once one with a mandate comes by the same gateway', async () => {
    const [here, there] = [open(), open()];
    for (let call = 0; call < 3; call += 1) here.budgets.spend('ada', 't');
    expect(await spend(here)).toBe('ok');
    expect(await times(5, there)).toBe(1);
  });

  it('is counted by each alone while the store is away, and together when it is back', async () => {
    const [here, there] = [open(), open()];
    expect(await spend(here)).toBe('ok');
    here.realm.isAway = true;
    expect(await times(2, here)).toBe(2);
    expect(warnings).toEqual(['budgets of traces are counted by this gateway alone']);
    expect(await spend(there)).toBe('ok');
    here.realm.isAway = false;
    expect(await times(5, here)).toBe(1);
    expect(await spend(there)).toBe('calls');
  });

  it('is not asked of the store for a call without a mandate, nor where there is no store', () => {
    const here = open();
    here.realm.isAway = true;
    here.budgets.spend('ada', 't');
    expect(warnings).toEqual([]);
    const alone = new TraceBudgets({ limit: { calls: 1, ms: 1_000 }, clock });
    expect(alone.spendTogether('ada', 't')).toBeUndefined();
    expect(() => alone.spendTogether('ada', 't')).toThrow(/budget of calls/);
  });

  it('leaves nothing in the store when no mandate of its trace is accepted any more', async () => {
    await spend(open());
    clock.advance(10 * 60_000);
    expect((await store.read('realm:budgets')).entries.size).toBe(0);
  });
});
