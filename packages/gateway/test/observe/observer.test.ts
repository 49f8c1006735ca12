import { createTrace, FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openObserver, PERCY, servedCall, startCall } from './support/observed.ts';

const ALICE = '2bd806c97f0e';

describe('observer', () => {
  it('writes one line for a call that was served', () => {
    const { observer, lines, clock } = openObserver();
    const trace = createTrace();
    const call = startCall(observer, { trace, stream: true });
    call.target(undefined, 'reason');
    const attempt = call.attempt(PERCY);
    call.event('status');
    clock.advance(12.5);
    call.event('token');
    clock.advance(10);
    call.event('final');
    attempt.end({ ok: true });
    call.end({ ok: true, agentId: 'percy', fallback: false });
    call.end({ ok: false, error: new FabricError('INTERNAL', 'too late to count') });
    expect(lines.all).toEqual([
      {
        level: 'info',
        time: '2026-01-01T00:00:00.022Z',
        trace_id: trace.trace_id,
        span_id: trace.span_id,
        principal: ALICE,
        tool: 'fabric.call',
        agent_id: 'percy',
        capability: 'reason',
        ok: true,
        code: null,
        ms: 22.5,
        attempts: 1,
        fallback: false,
        stream: true,
        events: 3,
        first_event_ms: 12.5,
        message: 'call',
      },
    ]);
  });

  it.each([
    ['BAD_INPUT', 'info'],
    ['TIMEOUT', 'warn'],
    ['INTERNAL', 'error'],
  ] as const)('writes the line of a failed call at the level of its code: %s', (code, level) => {
    const { observer, lines } = openObserver();
    const call = startCall(observer);
    call.target('percy', 'reason');
    const details = {
      headers: { authorization: 'Bearer planted-secret' },
      token: 'planted-secret',
    };
    const cause = new Error('token=planted-secret');
    call.end({ ok: false, error: new FabricError(code, 'It failed', { details, cause }) });
    expect(lines.all).toMatchObject([
      { level, ok: false, code, message: 'call', error: { code, message: 'It failed' } },
    ]);
    expect(lines.text).not.toContain('planted-secret');
    expect(lines.text.includes('observer.test.ts')).toBe(code === 'INTERNAL');
  });

  it('names no principal anywhere, and hashes the same one alike', async () => {
    const { observer, lines } = openObserver();
    servedCall(observer, { principal: 'alice' });
    servedCall(observer, { principal: 'alice' });
    servedCall(observer, { principal: null });
    expect(lines.all.map(({ principal }) => principal)).toEqual([ALICE, ALICE, null]);
    expect(lines.text + (await observer.metricsText())).not.toContain('alice');
  });

  it('gives an attempt a span of its own below the call, and both a log that names their spans', () => {
    const { observer, lines } = openObserver();
    const trace = createTrace();
    const call = startCall(observer, { trace });
    const attempt = call.attempt(PERCY);
    expect(attempt.trace).toEqual({
      trace_id: trace.trace_id,
      span_id: expect.not.stringMatching(trace.span_id),
      parent_span_id: trace.span_id,
    });
    call.log.info({}, 'of the call');
    attempt.log.child({ part: 'adapter' }).info({}, 'of the attempt');
    expect(lines.all).toMatchObject([
      { trace_id: trace.trace_id, span_id: trace.span_id, message: 'of the call' },
      { trace_id: trace.trace_id, span_id: attempt.trace.span_id, part: 'adapter' },
    ]);
  });

  it('writes the line of a call once, with the time it took and its attempts', () => {
    const { observer, clock, lines } = openObserver();
    const trace = createTrace();
    const call = startCall(observer, { trace });
    call.target('percy', 'reason');
    const attempt = call.attempt(PERCY);
    clock.advance(5);
    const error = new FabricError('TIMEOUT', 'too long');
    attempt.end({ ok: false, error });
    attempt.end({ ok: true });
    call.end({ ok: false, error });
    call.end({ ok: true, fallback: false });
    expect(lines.all).toMatchObject([
      {
        trace_id: trace.trace_id,
        tool: 'fabric.call',
        agent_id: 'percy',
        ok: false,
        code: 'TIMEOUT',
        ms: 5,
        attempts: 1,
      },
    ]);
  });

  it('bounds the names that callers give', () => {
    const { observer, lines } = openObserver();
    const call = startCall(observer, { name: 't'.repeat(1_000_000) });
    call.target('a'.repeat(1_000_000), 'c'.repeat(1_000_000));
    call.end({ ok: false, error: new FabricError('CAPABILITY_NOT_FOUND', 'no such agent') });
    expect(lines.text.length).toBeLessThan(2000);
  });

  it('says in the log what no call could: breakers, agents that come and go', () => {
    const { observer, lines } = openObserver();
    observer.breakerChanged('percy', 'open');
    observer.breakerChanged('percy', 'closed');
    observer.agentHealth('percy', { status: 'online', checked_at: null });
    observer.agentHealth('percy', { status: 'offline', checked_at: null, message: 'gone' });
    observer.agentHealth('percy', { status: 'offline', checked_at: null, message: 'gone' });
    observer.agentHealth('percy', { status: 'online', checked_at: null });
    expect(lines.all).toMatchObject([
      { level: 'warn', agent_id: 'percy', state: 'open', message: 'breaker changed' },
      { level: 'info', agent_id: 'percy', state: 'closed', message: 'breaker changed' },
      { level: 'warn', agent_id: 'percy', message: 'agent is offline' },
      { level: 'info', agent_id: 'percy', message: 'agent is back' },
    ]);
  });

  it('takes a new level while it runs, and flushes at the end', async () => {
    const { observer, lines } = openObserver({ level: 'warn' });
    servedCall(observer);
    expect(lines.text).toBe('');
    observer.setLogLevel('info');
    servedCall(observer);
    expect(lines.with('call')).toHaveLength(1);
    await observer.shutdown();
    expect(lines.flushed).toBe(1);
  });

  it('does not wait for a destination that never finishes', async () => {
    const stuck = { write: () => {}, flush: () => {} };
    const { observer } = openObserver({ destination: stuck });
    await observer.shutdown();
  });
});
