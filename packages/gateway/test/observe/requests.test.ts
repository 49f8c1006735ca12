import { createCoordination, openStore } from '@starloom/coordination';
import { createTrace, silentLog, toMeta, toW3cTraceId } from '@starloom/core';
import { createMemoryJobEngine } from '@starloom/jobs';
import { Collector } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { bearer, open, SocketTransport } from '../message-clients.ts';
import { post, request } from '../rpc/clients.ts';
import { answers, call, connect, KEY, openTestGateway } from '../test-gateway.ts';
import { openObserver, samples } from './support/observed.ts';

const socketTo = (url: string) =>
  new SocketTransport(`${url.replace('http', 'ws')}/mcp/ws`, ['mcp', bearer]);
const percy = { run: answers('served') };

/** A gateway with every face, whose log, spans and metrics can be read. */
async function openWorld() {
  const collector = await Collector.open();
  const store = await openStore({ kind: 'embedded' }, { log: silentLog });
  const coordination = createCoordination({ store, log: silentLog });
  const lines: string[] = [];
  const gateway = await openTestGateway(
    { percy },
    {
      coordination,
      jobs: createMemoryJobEngine(),
      otlp: collector.url,
      log: (line) => lines.push(line),
    },
  );
  const linesOf = (traceId: string) =>
    lines.map((line) => JSON.parse(line)).filter(({ trace_id }) => trace_id === traceId);
  return {
    url: gateway.url,
    observer: gateway.observer,
    linesOf,
    /** The line and the span of an answer. */
    async traced(traceId: string) {
      await expect.poll(() => linesOf(traceId), { timeout: 10_000 }).not.toEqual([]);
      const spans = () => collector.spans.filter((span) => span.traceId === toW3cTraceId(traceId));
      await expect.poll(spans, { timeout: 10_000 }).not.toEqual([]);
      return { line: linesOf(traceId)[0], span: spans()[0] };
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await coordination.close();
      await store.close();
      await collector[Symbol.asyncDispose]();
    },
  };
}

describe('every request', () => {
  it.each([
    ['fabric.agent.list', {}],
    ['fabric.agent.describe', { agent_id: 'percy' }],
    ['fabric.route.preview', { capability: 'work' }],
    ['fabric.health', {}],
    ['fabric.job.list', {}],
    ['fabric.call', { capability: 'work' }],
    ['fabric.call', { capability: 'work', async: true }],
    ['session.list', { agent_id: 'percy' }],
  ])('[G15][G41] %s answers with its trace, and leaves a line and a span', async (name, args) => {
    await using world = await openWorld();
    await using client = await connect(world.url);
    const { payload, result } = await call(client, name, args);
    expect(payload).toMatchObject({ ok: true, trace: { parent_span_id: null } });
    expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(payload) }]);
    const { line } = await world.traced(payload.trace.trace_id);
    expect(line).toMatchObject({ level: 'info', ok: true });
    expect([line.name, line.tool]).toContain(name);
  });

  it('[A5] spellings of the trace that disagree are refused by every tool', async () => {
    await using world = await openWorld();
    await using client = await connect(world.url);
    const [one, other] = [createTrace().trace_id, createTrace().trace_id];
    const _meta = { 'X-OpenStarry-Trace-ID': one, 'x-openstarry-trace-id': other };
    const result = await client.callTool({ name: 'fabric.agent.list', arguments: {}, _meta });
    expect(result.structuredContent).toMatchObject({ ok: false, error: { code: 'BAD_INPUT' } });
  });

  it('[G41] rejected arguments, unknown tools and refused calls leave a line and a span', async () => {
    await using world = await openWorld();
    await using client = await connect(world.url);
    const rejected = await call(client, 'fabric.agent.describe', { agent: 'percy' });
    const deep = await call(
      client,
      'fabric.call',
      { capability: 'work' },
      { meta: toMeta(createTrace(), { depth: 6, chain: [] }) },
    );
    const unknown = await client
      .callTool({ name: 'fabric.nothing' })
      .catch((error: { data: unknown }) => error.data);
    for (const [answer, code] of [
      [rejected.payload, 'BAD_INPUT'],
      [deep.payload, 'RECURSION_LIMIT'],
      [unknown, 'BAD_INPUT'],
    ]) {
      const { line, span } = await world.traced(answer.trace.trace_id);
      expect(line).toMatchObject({ message: 'request', method: 'tools/call', ok: false, code });
      expect(span?.attributes).toMatchObject({ 'starloom.error.code': code });
    }
  });

  it.each([
    ['over HTTP', (url: string) => connect(url)],
    ['over HTTP in a session', (url: string) => connect(url, 'legacy')],
    ['over a WebSocket', (url: string) => open(socketTo(url), 'auto')],
  ])('[G41] lists and reads leave a line and a span %s', async (_, connectTo) => {
    await using world = await openWorld();
    const client = await connectTo(world.url);
    const listed = createTrace();
    const read = createTrace();
    const _meta = toMeta(listed, { depth: 1, chain: [] });
    await client.listTools({ _meta });
    const failed = await client
      .readResource({ uri: 'none:', _meta: toMeta(read, { depth: 1, chain: [] }) })
      .catch((error: { data: unknown }) => error.data);
    expect(failed).toMatchObject({ trace: { trace_id: read.trace_id } });
    expect(await world.traced(listed.trace_id)).toMatchObject({
      line: { face: 'mcp', method: 'tools/list', ok: true },
      span: { name: 'tools/list', attributes: { 'mcp.method.name': 'tools/list' } },
    });
    const { line } = await world.traced(read.trace_id);
    expect(line).toMatchObject({ method: 'resources/read', ok: false, code: 'BAD_INPUT' });
    await client.close();
  });

  it('[G41] refusals leave a line and a span, with the trace of their answer', async () => {
    await using world = await openWorld();
    const send = async (path: string, init: RequestInit = {}) => {
      const headers = { 'content-type': 'application/json', ...init.headers };
      const response = await fetch(world.url + path, { method: 'POST', ...init, headers });
      // biome-ignore lint/suspicious/noExplicitAny: tests read into payloads freely
      return (await response.json()) as any;
    };
    const authorization = `Bearer ${KEY}`;
    const denied = await send('/mcp');
    const { line } = await world.traced(denied.error.data.trace.trace_id);
    expect(line).toMatchObject({
      level: 'warn',
      face: 'mcp',
      principal: null,
      code: 'AUTH_DENIED',
      credential: 'psk',
    });
    const caller = createTrace();
    const named = await send('/rpc', { headers: { 'x-openstarry-trace-id': caller.trace_id } });
    expect(named.error.data.trace.trace_id).toBe(caller.trace_id);
    await world.traced(caller.trace_id);
    const garbled = await send('/mcp', { headers: { authorization }, body: '{' });
    const { line: second } = await world.traced(garbled.error.data.trace.trace_id);
    expect(second).toMatchObject({ ok: false, code: 'BAD_INPUT' });
    const a2a = await send('/a2a/nobody', { headers: { authorization }, body: '{}' });
    const info = a2a.error.data[0].metadata.trace_id;
    expect((await world.traced(info)).line).toMatchObject({ face: 'a2a', ok: false });
  });

  it('[G41] /rpc leaves a line, a span and metrics, served or refused', async () => {
    await using world = await openWorld();
    const [first, second] = [createTrace(), createTrace()];
    const discover = request(1, 'mcp.discover', { trace_id: first.trace_id });
    await post(world.url, discover);
    await post(
      world.url,
      request(2, 'session_manager.get', { session_id: 'none', trace_id: second.trace_id }),
    );
    const refused = await post(world.url, request(3, 'no.such.method', {}));
    const { error } = JSON.parse(await refused.text());
    const { line: third } = await world.traced(error.data.trace.trace_id);
    expect(third.error).toMatchObject({ message: 'There is no method "no.such.method"' });
    expect(await world.traced(first.trace_id)).toMatchObject({
      line: { face: 'rpc', method: 'mcp.discover', ok: true },
      span: { name: 'mcp.discover' },
    });
    const { line } = await world.traced(second.trace_id);
    expect(line).toMatchObject({ method: 'session_manager.get', ok: false });
    const counted = await samples(world.observer);
    const count = (labels: string) => counted.get(`starloom_requests_total{${labels}}`);
    expect(count('face="rpc",method="mcp.discover",code="OK"')).toBe(1);
    expect(count('face="rpc",method="no.such.method",code="BAD_INPUT"')).toBeUndefined();
    expect([...counted.keys()].filter((key) => key.includes('no.such'))).toEqual([]);
  });

  it('has few lines when very many are refused at once, and all are counted', async () => {
    const { observer, lines, clock } = openObserver();
    const refuse = () => {
      const seen = observer.requestStarted({ face: 'mcp', transport: 'http', headers: {} });
      seen.fail(new Error('no key'));
      seen.end();
    };
    for (let n = 0; n < 5_000; n += 1) refuse();
    expect(lines.with('request')).toHaveLength(100);
    clock.advance(1_000);
    refuse();
    expect(lines.with('more requests were refused')).toMatchObject([{ requests: 4_900 }]);
    const counted = await samples(observer);
    const labels = 'face="mcp",method="unknown",code="INTERNAL"';
    expect(counted.get(`starloom_requests_total{${labels}}`)).toBe(5_001);
  });
});
