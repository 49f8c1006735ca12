import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openObserver, PERCY, samples, servedCall, startCall } from './support/observed.ts';

const percyOk =
  'starloom_calls_total{agent="percy",capability="reason",outcome="ok",code="OK",fallback="false"}';

describe('metrics', () => {
  it('counts a call, its attempts, its time and the time to its first event', async () => {
    const { observer, clock } = openObserver();
    const call = startCall(observer);
    call.target('percy', 'reason');
    expect((await samples(observer)).get('starloom_inflight_calls')).toBe(1);
    const first = call.attempt(PERCY);
    call.event('status');
    clock.advance(30);
    first.end({ ok: false, error: new FabricError('TIMEOUT', 'too long') });
    const second = call.attempt({ ...PERCY, agentId: 'backup', index: 1 });
    call.event('token');
    clock.advance(40);
    call.event('final');
    second.end({ ok: true });
    call.end({ ok: true, agentId: 'backup', fallback: true });
    const labels = 'agent="backup",capability="reason"';
    expect(Object.fromEntries(await samples(observer))).toMatchObject({
      [`starloom_calls_total{${labels},outcome="ok",code="OK",fallback="true"}`]: 1,
      [`starloom_call_duration_seconds_bucket{${labels},outcome="ok",le="0.05"}`]: 0,
      [`starloom_call_duration_seconds_bucket{${labels},outcome="ok",le="0.1"}`]: 1,
      [`starloom_call_duration_seconds_sum{${labels},outcome="ok"}`]: 0.07,
      [`starloom_time_to_first_event_seconds_sum{${labels}}`]: 0.03,
      'starloom_attempts_total{agent="percy",outcome="error",code="TIMEOUT"}': 1,
      'starloom_attempts_total{agent="backup",outcome="ok",code="OK"}': 1,
      'starloom_events_total{type="status"}': 1,
      'starloom_events_total{type="token"}': 1,
      starloom_inflight_calls: 0,
    });
  });

  it('tells failures by code, and calls that were given up from those that failed', async () => {
    const { observer } = openObserver();
    for (const code of ['UPSTREAM_ERROR', 'CANCELLED'] as const) {
      const call = startCall(observer);
      call.target('percy', 'reason');
      const error = new FabricError(code, 'x');
      call.attempt(PERCY).end({ ok: false, error });
      call.end({ ok: false, error });
    }
    const labels = 'agent="percy",capability="reason"';
    expect(Object.fromEntries(await samples(observer))).toMatchObject({
      [`starloom_calls_total{${labels},outcome="error",code="UPSTREAM_ERROR",fallback="false"}`]: 1,
      [`starloom_calls_total{${labels},outcome="cancelled",code="CANCELLED",fallback="false"}`]: 1,
      [`starloom_call_duration_seconds_count{${labels},outcome="cancelled"}`]: 1,
    });
  });

  it('makes no series of names that callers made up', async () => {
    const { observer } = openObserver();
    observer.agentHealth('percy', { status: 'online', checked_at: null });
    servedCall(observer);
    const seriesBefore = (await samples(observer)).size;
    const refuse = (agentId: string | undefined, capability: string) => {
      const call = startCall(observer);
      call.target(agentId, capability);
      call.end({ ok: false, error: new FabricError('CAPABILITY_NOT_FOUND', 'no') });
    };
    for (let index = 0; index < 500; index += 1) {
      refuse(`made-up-${index}`, `made-up-${index}`);
      refuse('percy', `made-up-${index}`);
      refuse(undefined, `made-up-${index}`);
    }
    refuse('percy', 'reason');
    const after = await samples(observer);
    const notFound = 'outcome="error",code="CAPABILITY_NOT_FOUND",fallback="false"';
    expect(Object.fromEntries(after)).toMatchObject({
      [`starloom_calls_total{agent="unknown",capability="unknown",${notFound}}`]: 1000,
      [`starloom_calls_total{agent="percy",capability="unknown",${notFound}}`]: 500,
      [`starloom_calls_total{agent="percy",capability="reason",${notFound}}`]: 1,
    });
    expect([...after.keys()].join('\n')).not.toContain('made-up');
    expect(after.size - seriesBefore).toBeLessThan(100);
  });

  it('follows the health and the breaker of an agent, and forgets one that is gone', async () => {
    const { observer } = openObserver();
    servedCall(observer);
    observer.agentHealth('percy', { status: 'offline', checked_at: null, message: 'gone' });
    for (const [state, value] of [
      ['open', 2],
      ['half-open', 1],
      ['closed', 0],
    ] as const) {
      observer.breakerChanged('percy', state);
      expect((await samples(observer)).get('starloom_breaker_state{agent="percy"}')).toBe(value);
    }
    expect((await samples(observer)).get('starloom_agent_up{agent="percy"}')).toBe(0);
    observer.agentGone('percy');
    expect([...(await samples(observer)).keys()].join('\n')).not.toContain('percy');
    servedCall(observer);
    expect((await samples(observer)).get(percyOk)).toBe(1);
  });

  it('counts refusals, cut streams and reloads', async () => {
    const { observer } = openObserver();
    observer.authFailed('psk', 'wrong_key');
    observer.authFailed('psk', 'wrong_key');
    observer.recursionBlocked('cycle');
    observer.streamDropped('slow_reader');
    observer.configReloaded(true);
    observer.configReloaded(false);
    expect(Object.fromEntries(await samples(observer))).toMatchObject({
      'starloom_auth_failures_total{mode="psk",reason="wrong_key"}': 2,
      'starloom_recursion_blocked_total{reason="cycle"}': 1,
      'starloom_stream_dropped_total{reason="slow_reader"}': 1,
      'starloom_config_reload_total{result="ok"}': 1,
      'starloom_config_reload_total{result="failed"}': 1,
    });
  });

  it('says what runs and what it costs, in a form that Prometheus reads', async () => {
    const { observer } = openObserver();
    servedCall(observer);
    const found = await samples(observer);
    expect(found.get('starloom_build_info{version="1.2.3"}')).toBe(1);
    expect(found.get('process_resident_memory_bytes')).toBeGreaterThan(1e6);
    expect(found.get('process_cpu_seconds_total')).toBeGreaterThan(0);
    expect(found.get('nodejs_eventloop_lag_seconds{quantile="0.99"}')).toBeGreaterThanOrEqual(0);
    const text = await observer.metricsText();
    const sample = /^[a-z_]+(\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})? (\d+(\.\d+)?(e-\d+)?)$/;
    for (const line of text.trimEnd().split('\n')) {
      expect(line).toMatch(line.startsWith('#') ? /^# (HELP|TYPE) [a-z_]+ .+/ : sample);
    }
    const families = [...text.matchAll(/^# TYPE ([a-z_]+)/gm)].map(([, name]) => name);
    expect(new Set(families).size).toBe(families.length);
    await observer.shutdown();
  });
});
