import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { FabricError } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import type { Principal } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { gatewayConfigSchema } from '../../src/index.ts';
import { CallLimits } from '../../src/pipeline/limits.ts';

const DAY_MS = 86_400_000;

function open(limits: Record<string, unknown>) {
  const clock = new ManualClock();
  const met: string[] = [];
  const parsed = gatewayConfigSchema.parse({ limits }).limits;
  const onLimited = (limit: string) => void met.push(limit);
  return { clock, met, limits: new CallLimits({ limits: parsed, clock, onLimited }) };
}

const principal = (id: string, actsFor?: string): Principal => ({
  id,
  mode: 'psk',
  tier: 'org',
  scopes: ['*'],
  keyId: id,
  ...(actsFor !== undefined && { delegation: { principalId: actsFor } as never }),
});
const ada = principal('ada');

/** How many of them are let in. */
function admitted(limits: CallLimits, who: Principal, calls: number): number {
  return Array.from({ length: calls }).filter(() => refusal(() => limits.admit(who)) === undefined)
    .length;
}

function refusal(charge: () => void): FabricError | undefined {
  try {
    charge();
    return undefined;
  } catch (error) {
    return error as FabricError;
  }
}

describe('a rate of calls', () => {
  const rate = { calls: 10, seconds: 1, burst: 5 };

  it('is off by default', () => {
    const { limits, met } = open({});
    expect(admitted(limits, ada, 10_000)).toBe(10_000);
    expect(refusal(() => limits.spend(ada, 1e9))).toBeUndefined();
    expect(met).toEqual([]);
  });

  it('lets a burst in, then one call after the other, and says when', () => {
    const { limits, clock, met } = open({ rate_per_principal: rate });
    expect(admitted(limits, ada, 20)).toBe(5);
    expect(refusal(() => limits.admit(ada))).toMatchObject({
      code: 'RATE_LIMITED',
      details: { reason: 'rate_per_principal', limit: 10, window_s: 1, retry_after_ms: 100 },
    });
    expect(new Set(met)).toEqual(new Set(['rate_per_principal']));
    clock.advance(99);
    expect(admitted(limits, ada, 1)).toBe(0);
    clock.advance(1);
    expect(admitted(limits, ada, 2)).toBe(1);
    clock.advance(10_000);
    expect(admitted(limits, ada, 20)).toBe(5);
  });

  it('holds over any time, whatever the pauses', () => {
    const { limits, clock } = open({ rate_per_principal: rate });
    let calls = 0;
    for (let step = 0; step < 1_000; step += 1) {
      calls += admitted(limits, ada, 3);
      clock.advance((step * 7) % 50);
    }
    const seconds = clock.monotonic() / 1_000;
    expect(calls).toBeLessThanOrEqual(5 + 10 * seconds + 1);
    expect(calls).toBeGreaterThan(10 * seconds * 0.9);
  });

  it('is kept for each principal, and shared by all who act for it', () => {
    const { limits } = open({ rate_per_principal: rate });
    expect(admitted(limits, ada, 9)).toBe(5);
    expect(admitted(limits, principal('ada/coder', 'ada'), 9)).toBe(0);
    expect(admitted(limits, principal('bob'), 9)).toBe(5);
  });

  it('may be another one for one principal, or for one agent', () => {
    const { limits } = open({
      rate_per_principal: rate,
      principals: { ada: { rate: { calls: 2, seconds: 60 } } },
      agents: { percy: { rate: { calls: 1, seconds: 60 } } },
    });
    expect(admitted(limits, ada, 9)).toBe(2);
    expect(admitted(limits, principal('bob'), 9)).toBe(5);
    limits.attempt('percy');
    limits.attempt('coder');
    limits.attempt('coder');
    expect(refusal(() => limits.attempt('percy'))?.details).toMatchObject({
      reason: 'rate_per_agent',
      agent_id: 'percy',
      sent: false,
    });
  });

  it('takes more messages at once than its burst when it is full, and then waits for all', () => {
    const { limits, clock } = open({ rpc_rate_per_principal: rate });
    limits.messages(ada, 20);
    expect(refusal(() => limits.messages(ada, 1))?.details.retry_after_ms).toBe(1_600);
    clock.advance(1_600);
    expect(refusal(() => limits.messages(ada, 1))).toBeUndefined();
  });

  it('remembers a bounded number of principals', () => {
    const { limits } = open({ rate_per_principal: { calls: 1, seconds: 86_400 } });
    const before = heapInUse();
    for (let id = 0; id < 200_000; id += 1) limits.admit(principal(`p${id}`));
    expect(heapInUse() - before).toBeLessThan(16 * 1024 ** 2);
    limits.admit(principal('last'));
  });
});

/** Without what only waits for the garbage collector. */
function heapInUse(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

describe('a budget of cost', () => {
  it('is spent by what calls cost, and is whole again on the next day', () => {
    const { limits, clock } = open({ cost_per_principal: 10 });
    limits.spend(ada, 4);
    limits.spend(ada, 6);
    limits.spend(ada, 0);
    limits.spend(ada);
    const over = refusal(() => limits.spend(ada, 0.5));
    expect(over).toMatchObject({
      code: 'RATE_LIMITED',
      details: { reason: 'cost_per_principal', limit: 10, spent: 10, cost: 0.5 },
    });
    expect(refusal(() => limits.spend(principal('bob'), 10))).toBeUndefined();
    const wait = Number(over?.details.retry_after_ms);
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(DAY_MS);
    clock.advance(wait - 1);
    expect(refusal(() => limits.spend(ada, 0.5))).toBeDefined();
    clock.advance(1);
    limits.spend(ada, 10);
  });

  it('gets back what was charged for a call that is a repetition', () => {
    const { limits } = open({ cost_per_principal: 5, rate_per_principal: { calls: 1 } });
    limits.admit(ada);
    limits.spend(ada, 5);
    limits.giveBack(ada, 5);
    limits.admit(ada);
    limits.spend(ada, 5);
    expect(refusal(() => limits.spend(ada, 1))).toBeDefined();
  });
});

it('writes one refusal of a principal in a second to the audit log', () => {
  const { limits, clock } = open({});
  const recorded = () => [ada, ada, principal('bob')].map((who) => limits.mayRecord(who));
  expect(recorded()).toEqual([true, false, true]);
  clock.advance(1_000);
  expect(recorded()).toEqual([true, false, true]);
});
