import {
  createTrace,
  manifestSchema,
  silentLog,
  toTraceparent,
  toW3cSpanId,
  toW3cTraceId,
} from '@starloom/core';
import { type AgentFileInput, openAgent } from '@starloom/runtime';
import { AgentMcpFace, openMcpHttp } from '@starloom/runtime/mcp';
import { defineTool } from '@starloom/sdk';
import { Collector, KIND, type ReceivedSpan } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openGateway } from './gateway.ts';

const POLL = { timeout: 15_000, interval: 20 };

/** An agent over HTTP that sends its spans to the collector. */
async function serveAgent(
  agent: Pick<AgentFileInput, 'name' | 'provider' | 'plugins' | 'mcp'>,
  otlp: string,
  tools: Parameters<typeof openAgent>[0]['tools'] = [],
) {
  const opened = await openAgent({
    config: {
      agent: { version: '1.0.0', telemetry: { otlp }, ...agent },
      folder: import.meta.dirname,
    },
    tools,
    approve: async () => true,
  });
  const { guard, config } = opened;
  const { mcp } = config.agent;
  const face = await AgentMcpFace.open({ agent: opened, log: silentLog });
  const http = await openMcpHttp(face, { port: 0 });
  return {
    agent: opened,
    manifest: manifestSchema.parse({
      agent_id: guard.agentId,
      endpoint: { transport: 'http', uri: http.url },
      capabilities: (mcp.expose_tools ?? []).map((name) => ({ name })),
    }),
    async [Symbol.asyncDispose]() {
      await http.close();
      face.close();
      await opened.close();
    },
  };
}

/** `service: name` of each span below `parent`, in the order of their starts. */
function outline(spans: readonly ReceivedSpan[], parent: string, level = 0): string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .toSorted((one, other) => (one.startTimeUnixNano < other.startTimeUnixNano ? -1 : 1))
    .flatMap(({ service, name, spanId }) => [
      `${'  '.repeat(level)}${service}: ${name}`,
      ...outline(spans, spanId, level + 1),
    ]);
}

const work = defineTool({
  name: 'desk:work',
  description: 'Works',
  effect: 'read',
  parameters: z.strictObject({ task: z.string() }),
  execute: ({ task }) => `${task}: done`,
});

describe('one trace', () => {
  it('[G33] leads through gateway, agent, the gateway it calls and the agent there', async () => {
    await using collector = await Collector.open();
    const { url: otlp } = collector;
    await using percy = await serveAgent(
      {
        name: 'percy',
        provider: { kind: 'scripted', script: ['unused'] },
        mcp: { expose_tools: ['desk:work'] },
      },
      otlp,
      [work],
    );
    await using inner = await openGateway([percy.manifest], [], undefined, otlp);
    const asked = {
      agent_id: 'percy',
      capability: 'desk:work',
      arguments: { task: 'tidy' },
    };
    await using writer = await serveAgent(
      {
        name: 'writer',
        provider: {
          kind: 'scripted',
          script: [
            { segments: [{ type: 'tool_call', toolCall: { name: 'fabric:call', args: asked } }] },
            'It is tidy.',
          ],
        },
        plugins: [{ name: 'fabric', config: { url: inner.url } }],
        mcp: { expose_tools: ['ask'] },
      },
      otlp,
    );
    await using outer = await openGateway([writer.manifest], [], undefined, otlp);
    const caller = createTrace();
    const answered = await outer.call(
      { agent_id: 'writer', capability: 'ask', arguments: { prompt: 'Tidy up' } },
      { traceparent: toTraceparent(caller) },
    );
    expect(answered).toMatchObject({ ok: true, trace: { trace_id: caller.trace_id } });
    const traceId = toW3cTraceId(caller.trace_id);
    const spans = () => collector.spans.filter((span) => span.traceId === traceId);
    await expect
      .poll(() => outline(spans(), toW3cSpanId(caller.span_id)), POLL)
      .toEqual([
        'starloom-gateway: tools/call fabric.call',
        '  starloom-gateway: invoke_agent writer',
        '    writer: invoke_agent writer',
        '      writer: chat scripted',
        '      writer: execute_tool fabric:call',
        '        starloom-gateway: tools/call fabric.call',
        '          starloom-gateway: invoke_agent percy',
        '            percy: tools/call desk:work',
        '      writer: chat scripted',
      ]);
    const named = (name: string) => spans().filter((span) => span.name === name);
    expect(named('execute_tool fabric:call')).toMatchObject([{ kind: KIND.client }]);
    expect(named('tools/call desk:work')).toMatchObject([
      {
        kind: KIND.server,
        attributes: {
          'mcp.method.name': 'tools/call',
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'desk:work',
          'gen_ai.agent.name': 'percy',
        },
      },
    ]);
    expect(named('chat scripted')).toMatchObject([
      {
        kind: KIND.client,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': 'scripted',
          'gen_ai.response.model': 'scripted',
          'starloom.model.purpose': 'answer',
        },
      },
      {},
    ]);
    expect(JSON.stringify(collector.spans)).not.toMatch(/tidy/i);
  });
});
