import { once } from 'node:events';
import { createServer } from 'node:net';
import { performance } from 'node:perf_hooks';
import {
  createTrace,
  FabricError,
  fromW3cSpanId,
  systemClock,
  toW3cSpanId,
  toW3cTraceId,
} from '@starloom/core';
import { Collector, KIND } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { openObserver, PERCY, servedCall, startCall } from './support/observed.ts';

const QUICK = { collectMs: 20, exportMs: 300, shutdownMs: 500 };

describe('tracing', () => {
  it('sends the spans of a call with the ids that caller and agent see', async () => {
    await using collector = await Collector.open();
    const { observer, clock } = openObserver({ otlp: collector.url, times: QUICK });
    const callerSpan = 'a1b2c3d4e5f60718';
    const trace = { ...createTrace(), parent_span_id: fromW3cSpanId(callerSpan) };
    const call = startCall(observer, { trace, requestId: 7, protocolVersion: '2026-07-28' });
    call.target('percy', 'reason');
    clock.advance(2);
    const first = call.attempt(PERCY);
    clock.advance(3.25);
    first.end({ ok: false, error: new FabricError('TIMEOUT', 'too long') });
    const second = call.attempt({ ...PERCY, agentId: 'backup', index: 1 });
    clock.advance(1);
    second.end({ ok: true });
    call.end({ ok: true, agentId: 'backup', fallback: true });
    await collector.received(3);
    const traceId = toW3cTraceId(trace.trace_id);
    const spanId = toW3cSpanId(trace.span_id);
    expect(collector.named('tools/call fabric.call')).toMatchObject([
      {
        traceId,
        spanId,
        parentSpanId: callerSpan,
        kind: KIND.server,
        startTimeUnixNano: `${clock.now() - 6.25}000000`,
        status: { code: 0 },
        attributes: { 'gen_ai.tool.name': 'fabric.call', 'starloom.fallback': true },
      },
    ]);
    expect(collector.named('invoke_agent percy')).toMatchObject([
      {
        traceId,
        spanId: toW3cSpanId(first.trace.span_id),
        parentSpanId: spanId,
        kind: KIND.client,
        status: { code: 2, message: 'too long' },
        attributes: { 'error.type': 'TIMEOUT', 'starloom.fallback.index': 0 },
      },
    ]);
    const [backup] = collector.named('invoke_agent backup');
    expect(backup).toMatchObject({ parentSpanId: spanId, status: { code: 0 } });
    expect(nanoseconds(backup?.endTimeUnixNano) - nanoseconds(backup?.startTimeUnixNano)).toBe(
      1_000_000n,
    );
    expect(collector.resource).toMatchObject({
      'service.name': 'starloom-gateway',
      'service.version': '1.2.3',
    });
    await observer.shutdown();
  });

  it('takes the span of the caller when the trace has none, and marks a failed call', async () => {
    await using collector = await Collector.open();
    const { observer } = openObserver({ otlp: `${collector.url}/v1/traces`, times: QUICK });
    const parentSpanId = fromW3cSpanId('00f067aa0ba902b7');
    const error = new FabricError('BAD_INPUT', 'no task; sent Bearer planted-secret');
    startCall(observer, { parentSpanId }).end({ ok: false, error });
    startCall(observer, { method: 'resources/read', name: 'file:///x' }).end({ ok: false, error });
    startCall(observer).end({ ok: false, error, protocolError: true });
    await collector.received(3);
    expect(collector.spans).toMatchObject([
      { parentSpanId: '00f067aa0ba902b7', attributes: { 'error.type': 'tool_error' } },
      { name: 'resources/read', attributes: { 'rpc.response.status_code': '-32602' } },
      { name: 'tools/call fabric.call', attributes: { 'error.type': 'BAD_INPUT' } },
    ]);
    expect(collector.spans[1]).not.toHaveProperty('parentSpanId');
    expect(JSON.stringify(collector.spans)).not.toMatch(/planted-secret|alice/);
    expect(collector.paths).toEqual(['/v1/traces']);
    await observer.shutdown();
  });

  it('[G32] sends every line of the log with the ids of its span, and as it was written', async () => {
    await using collector = await Collector.open();
    const { observer, lines } = openObserver({ otlp: collector.url, times: QUICK });
    const trace = createTrace();
    const call = startCall(observer, { trace });
    call.log.warn({ agent_id: 'percy', key: 'Bearer planted-secret' }, 'slow');
    call.end({ ok: false, error: new FabricError('TIMEOUT', 'too long') });
    observer.log.info({ port: 1 }, 'ready');
    await observer.shutdown();
    const traceId = toW3cTraceId(trace.trace_id);
    const spanId = toW3cSpanId(trace.span_id);
    expect(collector.lines).toMatchObject([
      {
        traceId,
        spanId,
        severityText: 'warn',
        severityNumber: 13,
        body: { stringValue: 'slow' },
        attributes: { agent_id: 'percy' },
      },
      { traceId, spanId, body: { stringValue: 'call' }, attributes: { code: 'TIMEOUT' } },
      { body: { stringValue: 'ready' }, attributes: { port: 1 } },
    ]);
    expect(collector.lines[2]?.traceId).toMatch(/^[0-9a-f]{32}$/);
    const [first] = lines.all;
    const at = Date.parse(String(first?.time));
    expect(collector.lines[0]?.timeUnixNano).toBe(`${at}000000`);
    expect(JSON.stringify(collector.lines)).not.toMatch(/planted-secret|alice/);
  });

  it('[G33] sends the same metrics that /metrics shows', async () => {
    await using collector = await Collector.open();
    const { observer } = openObserver({ otlp: collector.url, times: { ...QUICK, metricsMs: 20 } });
    servedCall(observer);
    await expect.poll(() => collector.metrics.has('starloom_calls_total'), POLL).toBe(true);
    const text = await observer.metricsText();
    await observer.shutdown();
    const names = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
    expect([...collector.metrics.keys()].sort()).toEqual(names.map(([, name]) => name).sort());
    const labels = (agent: string) => [{ key: 'agent', value: { stringValue: agent } }];
    expect(collector.metrics.get('starloom_calls_total')).toMatchObject({
      sum: {
        isMonotonic: true,
        aggregationTemporality: 2,
        dataPoints: [{ asDouble: 1, attributes: expect.arrayContaining(labels('percy')) }],
      },
    });
    expect(collector.metrics.get('starloom_inflight_calls')).toMatchObject({
      gauge: { dataPoints: [{ asDouble: 0 }] },
    });
    expect(collector.metrics.get('starloom_call_duration_seconds')).toMatchObject({
      histogram: { dataPoints: [{ count: 1, explicitBounds: expect.arrayContaining([0.5]) }] },
    });
  });

  it('does not count jobs any more at shutdown: their engine is closed by then', async () => {
    await using collector = await Collector.open();
    const { observer, lines } = openObserver({ otlp: collector.url, times: QUICK });
    observer.watchJobs(() => Promise.reject(new Error('closed')));
    await observer.shutdown();
    expect(collector.metrics.has('starloom_jobs')).toBe(true);
    expect(lines.with('jobs could not be counted')).toEqual([]);
  });

  it('sends what is left at shutdown, however little time it had', async () => {
    await using collector = await Collector.open();
    const times = { ...QUICK, collectMs: 60_000, shutdownMs: 10_000, exportMs: 10_000 };
    const { observer } = openObserver({ otlp: collector.url, times });
    for (let call = 0; call < 700; call += 1) servedCall(observer);
    await observer.shutdown();
    expect(collector.spans).toHaveLength(1400);
  });

  it('sends the password in the address as a header, and never logs it', async () => {
    await using collector = await Collector.open();
    const otlp = collector.url.replace('://', '://me:planted-secret@');
    const { observer, lines } = openObserver({ otlp, times: QUICK });
    collector.status = 400;
    servedCall(observer);
    await expect.poll(() => lines.with('traces are not exported').length, POLL).toBe(1);
    expect(collector.headers[0]?.authorization).toMatch(/^Basic /);
    expect(lines.text).not.toContain('planted-secret');
    await observer.shutdown();
  });

  it('says once that the collector refuses, and once that it takes traces again', async () => {
    await using collector = await Collector.open();
    collector.status = 400;
    const { observer, lines } = openObserver({ otlp: collector.url, times: QUICK });
    for (let round = 1; round <= 3; round += 1) {
      servedCall(observer);
      await expect.poll(() => collector.paths.filter(isOfTraces).length, POLL).toBe(round);
    }
    collector.status = 200;
    servedCall(observer);
    await expect
      .poll(() => lines.with('traces are exported again'), POLL)
      .toMatchObject([{ level: 'info', lost: 6 }]);
    expect(lines.with('traces are not exported')).toMatchObject([
      { level: 'warn', reason: expect.any(String), collector: new URL(collector.url).host },
    ]);
    await observer.shutdown();
  });

  it('is not held up by a collector that is down', async () => {
    const collector = await Collector.open();
    const { url } = collector;
    await collector[Symbol.asyncDispose]();
    const { observer, lines } = openObserver({ otlp: url, times: QUICK, clock: systemClock });
    servedCall(observer);
    await expect.poll(() => lines.with('traces are not exported').length, POLL).toBe(1);
    const began = performance.now();
    for (let call = 0; call < 5000; call += 1) servedCall(observer);
    expect(performance.now() - began).toBeLessThan(5000);
    await observer.shutdown();
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(lines.with('call')).toHaveLength(5001);
    expect(lines.with('traces are not exported')).toHaveLength(1);
  });

  it('gives up on a collector that never answers when its time is over, and says so', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const sockets = new Set<{ destroy(): void }>();
    silent.on('connection', (socket) => sockets.add(socket));
    const address = silent.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const times = { ...QUICK, exportMs: 15_000, shutdownMs: 200 };
    const { observer, lines } = openObserver({ otlp: `http://127.0.0.1:${port}`, times });
    servedCall(observer);
    const began = performance.now();
    await observer.shutdown();
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(lines.with('the last traces could not be exported')).toHaveLength(1);
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('refuses an address that is none', () => {
    for (const otlp of ['collector', 'ftp://collector/']) {
      expect(() => openObserver({ otlp })).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
    }
  });
});

const isOfTraces = (path: string) => path === '/v1/traces';
const POLL = { timeout: 10_000, interval: 10 };

function nanoseconds(text: string | undefined): bigint {
  return BigInt(text ?? 0);
}
