import { createCoordination, openStore } from '@starloom/coordination';
import {
  createTrace,
  FabricError,
  silentLog,
  toMeta,
  toTraceparent,
  toW3cSpanId,
  toW3cTraceId,
} from '@starloom/core';
import { createMemoryJobEngine } from '@starloom/jobs';
import { Collector, KIND, type ReceivedSpan } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectA2a, EVERY_WAY, message, WAYS } from '../a2a/a2a-client.ts';
import { rpc, toMessage } from '../a2a/raw.ts';
import { bearer, open, PipeTransport, SocketTransport } from '../message-clients.ts';
import { post, request } from '../rpc/clients.ts';
import { answers, call, connect, openTestGateway } from '../test-gateway.ts';

const POLL = { timeout: 15_000, interval: 20 };

/** A gateway with every face, and the collector that it sends to. */
async function openWorld() {
  const collector = await Collector.open();
  const store = await openStore({ kind: 'embedded' }, { log: silentLog });
  const coordination = createCoordination({ store, log: silentLog });
  const lines: Record<string, unknown>[] = [];
  const gateway = await openTestGateway(
    {
      percy: { run: answers('served') },
      broken: {
        run: () => {
          throw new FabricError('UPSTREAM_ERROR', 'broken');
        },
        manifest: { capabilities: [{ name: 'mend' }], fallbacks: ['fixer'] },
      },
      fixer: { run: answers('mended'), manifest: { capabilities: [{ name: 'mend' }] } },
    },
    {
      coordination,
      config: EVERY_WAY,
      jobs: createMemoryJobEngine(),
      otlp: collector.url,
      log: (line) => void lines.push(JSON.parse(line)),
    },
  );
  return {
    ...gateway,
    collector,
    lines,
    async close() {
      await gateway[Symbol.asyncDispose]();
      await coordination.close();
      await store.close();
      await collector[Symbol.asyncDispose]();
    },
  };
}

let world: Awaited<ReturnType<typeof openWorld>>;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const caller = { depth: 1, chain: [] };
const args = { capability: 'work' };

/** Names of the spans of a trace, each below its parent; those without one come first. */
function outline(spans: readonly ReceivedSpan[], parent: string | undefined, level = 0): string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .flatMap(({ name, spanId }) => [
      '  '.repeat(level) + name,
      ...outline(spans, spanId, level + 1),
    ]);
}

function spansOf(traceId: string): ReceivedSpan[] {
  return world.collector.spans.filter((span) => span.traceId === toW3cTraceId(traceId));
}

/** Waits until the spans of a trace stand like this. */
async function expectOutline(trace: ReturnType<typeof createTrace>, expected: string[]) {
  const below = () => outline(spansOf(trace.trace_id), toW3cSpanId(trace.span_id));
  await expect.poll(below, POLL).toEqual(expected);
  expect(spansOf(trace.trace_id)).toHaveLength(expected.length);
}

const CALL = ['tools/call fabric.call', '  invoke_agent percy'];

describe('the spans of one call', () => {
  it.each([
    ['HTTP', () => connect(world.url)],
    ['HTTP in a session', () => connect(world.url, 'legacy')],
    [
      'a WebSocket',
      () =>
        open(
          new SocketTransport(`${world.url.replace('http', 'ws')}/mcp/ws`, ['mcp', bearer]),
          'auto',
        ),
    ],
    [
      'standard input and output',
      () => {
        const pipes = new PipeTransport();
        void world.gateway.serveStdio(pipes.toServer, pipes.fromServer);
        return open(pipes, 'auto');
      },
    ],
  ])('[G33] stand below the span of an MCP client over %s', async (_, connectTo) => {
    const client = await connectTo();
    const trace = createTrace();
    const { payload } = await call(client, 'fabric.call', args, { meta: toMeta(trace, caller) });
    expect(payload).toMatchObject({ ok: true, trace: { trace_id: trace.trace_id } });
    await expectOutline(trace, CALL);
    await client.close();
  });

  it('[G33] are those of the job and its run when the call is stored', async () => {
    await using client = await connect(world.url);
    const trace = createTrace();
    const { payload } = await call(
      client,
      'fabric.call',
      { ...args, async: true },
      { meta: toMeta(trace, caller) },
    );
    await expectOutline(trace, ['tools/call fabric.call', '  job work', '    invoke_agent percy']);
    const run = spansOf(trace.trace_id).find(({ name }) => name === 'job work');
    expect(run).toMatchObject({
      kind: KIND.consumer,
      attributes: {
        'starloom.job.id': payload.job_id,
        'starloom.job.attempt': 1,
        'starloom.job.mode': 'start',
      },
    });
    expect(run?.attributes).not.toHaveProperty('mcp.method.name');
    const line = world.lines.find(({ job_id }) => job_id === payload.job_id);
    expect(line).toMatchObject({ message: 'call', trace_id: trace.trace_id });
  });

  it('[G33] stand below the span of an A2A client', async () => {
    const trace = createTrace();
    const headers = { traceparent: toTraceparent(trace) };
    const sent = await rpc(`${world.url}/a2a/percy`, 'SendMessage', toMessage('hello'), {
      headers,
    });
    expect(sent.status).toBe(200);
    await expectOutline(trace, ['SendMessage', '  job work', '    invoke_agent percy']);
  });

  it.each(WAYS)(
    '[G33] are in one trace with the message over A2A %s %s',
    async (binding, version) => {
      const before = world.collector.spans.length;
      const client = await connectA2a(world.url, { binding, version });
      await client.sendMessage(message('hello'));
      const added = () => world.collector.spans.slice(before);
      await expect
        .poll(() => added().map(({ name }) => name), POLL)
        .toContain('invoke_agent percy');
      const { traceId } = added().find(({ name }) => name === 'invoke_agent percy') ?? {};
      const rows = () =>
        outline(
          added().filter((span) => span.traceId === traceId),
          undefined,
        );
      await expect
        .poll(rows, POLL)
        .toEqual([expect.stringMatching(/send/i), '  job work', '    invoke_agent percy']);
    },
  );

  it('[G33] stand below the span of a client of /rpc', async () => {
    const trace = createTrace();
    const about = { trace_id: trace.trace_id, agent_id: 'percy' };
    await post(world.url, request(1, 'mcp.discover', about));
    await expect
      .poll(() => outline(spansOf(trace.trace_id), undefined), POLL)
      .toEqual(['mcp.discover']);
  });
});

describe('every line of a call', () => {
  it('[G32] has the trace of the call, in the log and at the collector', async () => {
    await using client = await connect(world.url);
    const trace = createTrace();
    const before = world.lines.length;
    const asked = { agent_id: 'broken', capability: 'mend' };
    const { payload } = await call(client, 'fabric.call', asked, { meta: toMeta(trace, caller) });
    expect(payload).toMatchObject({ ok: true, agent_id: 'fixer', fallback: true });
    await expectOutline(trace, [
      'tools/call fabric.call',
      '  invoke_agent broken',
      '  invoke_agent fixer',
    ]);
    const during = world.lines.slice(before);
    expect(during.map((line) => line.message)).toEqual([
      'attempt failed, another agent may serve',
      'call',
    ]);
    for (const line of during) expect(line).toMatchObject({ trace_id: trace.trace_id });
    const traceId = toW3cTraceId(trace.trace_id);
    const joined = () => world.collector.lines.filter((line) => line.traceId === traceId);
    await expect.poll(() => joined().map(({ body }) => body.stringValue), POLL).toContain('call');
    const [span] = world.collector.spans.filter(
      (one) => one.traceId === traceId && one.kind === KIND.server,
    );
    expect(joined().find(({ body }) => body.stringValue === 'call')?.spanId).toBe(span?.spanId);
  });
});
