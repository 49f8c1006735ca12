import { type ErrorCode, FabricError } from '@starloom/core';
import { defineProvider } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import { isTransient, withRetries } from '../../src/core/ask-model.ts';
import { openWorld, scripted, textOf } from './world.ts';

const rules = { attempts: 4, firstWaitMs: 100, longestWaitMs: 250 };

/** Runs against failures, without waiting; tells what it would have waited. */
async function tryAll(failures: FabricError[], remainingMs = 60_000) {
  const waits: number[] = [];
  let tries = 0;
  const result = withRetries(
    async () => {
      const failure = failures[tries];
      tries += 1;
      if (failure) throw failure;
      return 'ok';
    },
    {
      rules,
      signal: new AbortController().signal,
      remainingMs: () => remainingMs,
      wait: async (ms) => waits.push(ms),
      onRetry: () => {},
    },
  );
  const outcome = await result.catch((error: unknown) => error);
  return { outcome, waits, tries };
}

const failure = (code: ErrorCode, details = {}) => new FabricError(code, 'no', { details });

describe('asking a provider again', () => {
  it('waits longer each time, within its bounds, and tells the first success', async () => {
    const { outcome, waits } = await tryAll([
      failure('AGENT_OFFLINE'),
      failure('OVERLOADED'),
      failure('UPSTREAM_ERROR', { status: 503 }),
    ]);
    expect(outcome).toBe('ok');
    const [first = 0, second = 0, third = 0] = waits;
    expect(first).toBeGreaterThanOrEqual(50);
    expect(first).toBeLessThanOrEqual(100);
    expect(second).toBeGreaterThanOrEqual(100);
    expect(second).toBeLessThanOrEqual(200);
    expect(third).toBeGreaterThanOrEqual(125);
    expect(third).toBeLessThanOrEqual(250);
  });

  it('waits exactly as long as the provider asks', async () => {
    const { outcome, waits } = await tryAll([failure('RATE_LIMITED', { retry_after_ms: 7_000 })]);
    expect(outcome).toBe('ok');
    expect(waits).toEqual([7_000]);
  });

  it('does not begin a wait that the turn has no time for, and says what was asked for', async () => {
    const limited = failure('RATE_LIMITED', { retry_after_ms: 120_000 });
    const { outcome, waits, tries } = await tryAll([limited], 60_000);
    expect(outcome).toMatchObject({
      code: 'RATE_LIMITED',
      details: { retry_after_ms: 120_000, next_wait_ms: 120_000, attempts: 1 },
    });
    expect([waits, tries]).toEqual([[], 1]);
  });

  it('gives up on a provider that says 429 for ever, and says how often it tried', async () => {
    const { outcome, tries } = await tryAll(
      Array.from({ length: 9 }, () => failure('RATE_LIMITED')),
    );
    expect(outcome).toMatchObject({
      code: 'RATE_LIMITED',
      details: { attempts: 4, fix: expect.any(String) },
    });
    expect(tries).toBe(4);
  });

  it.each([
    [failure('RATE_LIMITED'), true],
    [failure('TIMEOUT'), true],
    [failure('UPSTREAM_ERROR', { status: 500 }), true],
    [failure('UPSTREAM_ERROR', { status: 529 }), true],
    [failure('UPSTREAM_ERROR', { status: 408 }), true],
    [failure('UPSTREAM_ERROR', { status: 400 }), false],
    [failure('UPSTREAM_ERROR'), false],
    [failure('AUTH_DENIED'), false],
    [failure('BAD_INPUT'), false],
    [failure('INTERNAL'), false],
  ])('%o is transient: %s', (error, expected) => {
    expect(isTransient(error)).toBe(expected);
  });

  it('takes a broken network and a status on a foreign error for what they are', async () => {
    const reset = new TypeError('fetch failed', {
      cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
    });
    const busy = Object.assign(new Error('busy'), { status: 503 });
    const provider = scripted(reset, busy, 'Here I am.');
    await using world = await openWorld({ provider });
    expect(textOf((await world.agent.turn('Hello?')).segments)).toBe('Here I am.');
    expect(world.eventsOf('STREAM:DISCARD').map(({ code }) => code)).toEqual([
      'AGENT_OFFLINE',
      'UPSTREAM_ERROR',
    ]);
  });

  it('takes back what was streamed before the failure', async () => {
    let tries = 0;
    const provider = defineProvider({
      name: 'flaky',
      async *stream() {
        tries += 1;
        yield { type: 'text', text: `Try ${tries}.` };
        if (tries === 1) throw failure('AGENT_OFFLINE');
      },
    });
    await using world = await openWorld({ provider });
    const { segments, steps } = await world.agent.turn('Hello?');
    expect(textOf(segments)).toBe('Try 2.');
    expect(steps).toBe(1);
    const names = world.events.map(({ type }) => type).filter((type) => type.startsWith('STREAM:'));
    expect(names).toEqual([
      'STREAM:TEXT',
      'STREAM:DISCARD',
      'STREAM:TEXT',
      'STREAM:STEP',
      'STREAM:END',
    ]);
  });

  it('hides the words of a foreign error from the caller, and keeps them as its cause', async () => {
    const provider = scripted(new Error('key sk-123 is bad'));
    await using world = await openWorld({ provider });
    const error = await world.agent.turn('Hello?').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      cause: { message: 'key sk-123 is bad' },
    });
    expect(String(error)).not.toContain('sk-123');
  });
});
