import { FabricError } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { Breakers } from '../../src/pipeline/breakers.ts';

const slow = new FabricError('TIMEOUT', 'slow');

function open() {
  const clock = new ManualClock();
  const changes: string[] = [];
  const breakers = new Breakers({
    clock,
    failures: 3,
    restMs: 1000,
    maxRestMs: 3000,
    onChange: (agentId, state) => changes.push(`${agentId} ${state}`),
  });
  const fail = (times: number, error = slow) => {
    for (let n = 0; n < times; n += 1) breakers.failed('percy', error);
  };
  return { clock, breakers, changes, fail };
}

describe('breaker', () => {
  it('opens after failures in a row, for that agent alone', () => {
    const { breakers, changes, fail } = open();
    fail(2);
    breakers.succeeded('percy');
    fail(2);
    expect(breakers.admit('percy')).toBe(true);
    fail(1);
    expect(breakers.admit('percy')).toBe(false);
    expect(breakers.admit('other')).toBe(true);
    expect(changes).toEqual(['percy open']);
  });

  it('opens for one caller alone when it gives the agent less time than it needs', () => {
    const { clock, breakers, changes } = open();
    const hasty = { principalId: 'hasty', isImpatient: true };
    for (let n = 0; n < 5; n += 1) breakers.failed('percy', slow, hasty);
    expect(breakers.admit('percy', 'hasty')).toBe(false);
    expect(breakers.admit('percy', 'other')).toBe(true);
    clock.advance(1000);
    expect(breakers.admit('percy', 'hasty')).toBe(true);
    breakers.succeeded('percy', 'hasty');
    expect(breakers.admit('percy', 'hasty')).toBe(true);
    expect(changes).toEqual([]);
    const patient = { principalId: 'patient', isImpatient: false };
    for (let n = 0; n < 3; n += 1) breakers.failed('percy', slow, patient);
    expect(breakers.admit('percy', 'other')).toBe(false);
    breakers.forget('percy');
    expect(breakers.admit('percy', 'other')).toBe(true);
  });

  it('stays closed when it is our own limit that refused', () => {
    const { breakers, fail } = open();
    const details = { reason: 'calls_per_agent' };
    fail(5, new FabricError('OVERLOADED', 'full', { details }));
    expect(breakers.admit('percy')).toBe(true);
  });

  it('lets one call through after its rest, and closes when that works', () => {
    const { clock, breakers, changes, fail } = open();
    fail(3);
    clock.advance(1000);
    expect(breakers.isOpen('percy')).toBe(false);
    expect([breakers.admit('percy'), breakers.admit('percy')]).toEqual([true, false]);
    expect(breakers.state('percy')).toBe('half-open');
    breakers.succeeded('percy');
    expect(breakers.admit('percy')).toBe(true);
    expect(changes).toEqual(['percy open', 'percy half-open', 'percy closed']);
  });

  it('rests longer each time the trial fails, up to a bound', () => {
    const { clock, breakers, fail } = open();
    fail(3);
    for (const rest of [1000, 2000, 3000, 3000]) {
      clock.advance(rest - 1);
      expect(breakers.admit('percy')).toBe(false);
      clock.advance(1);
      expect(breakers.admit('percy')).toBe(true);
      fail(1);
    }
  });

  it.each([
    ['what the caller did wrong', new FabricError('BAD_INPUT', '')],
    ['a refused recursion', new FabricError('RECURSION_LIMIT', '')],
    ['a cancelled call', new FabricError('CANCELLED', '')],
    [
      'an error the agent answered',
      new FabricError('UPSTREAM_ERROR', '', { details: { reason: 'tool_error' } }),
    ],
  ])('does not count %s', (_, error) => {
    const { breakers, fail } = open();
    fail(10, error);
    expect(breakers.admit('percy')).toBe(true);
  });

  it('lets the next one try when a trial proved nothing', () => {
    const { clock, breakers, fail } = open();
    fail(3);
    clock.advance(1000);
    expect(breakers.admit('percy')).toBe(true);
    fail(1, new FabricError('CANCELLED', ''));
    expect(breakers.admit('percy')).toBe(true);
  });
});
