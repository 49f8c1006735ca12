import { createTrace, FabricError, toMeta, toW3cSpanId, toW3cTraceId } from '@starloom/core';
import { defineTool, type IProvider } from '@starloom/sdk';
import { Collector, KIND } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openAgent } from '../src/index.ts';
import { createExactTime } from '../src/telemetry.ts';
import { AUTO, openFace } from './mcp/fixtures/face-world.ts';

const echo = defineTool({
  name: 'test:echo',
  description: 'Echoes',
  effect: 'read',
  parameters: z.strictObject({ text: z.string() }),
  command: 'echo',
  execute: ({ text }) => text,
});

const config = (otlp: string) => ({
  agent: { name: 'Percy Two', version: '1.2.0', telemetry: { otlp } },
  folder: import.meta.dirname,
});

describe('the telemetry of an agent', () => {
  it('[G33] has the turn and the tools that a user calls, by the ids of the turn', async () => {
    await using collector = await Collector.open();
    const provider: IProvider = {
      name: 'own',
      generate: async () => ({
        segments: [{ type: 'text', text: 'planted-answer' }],
        metadata: { model: 'm-1', usage: { inputTokens: 7, outputTokens: 3 } },
      }),
    };
    const agent = await openAgent({ config: config(collector.url), provider, tools: [echo] });
    const command = await agent.turn('/echo planted-argument');
    const message = await agent.turn('planted-question');
    await agent.close();
    const of = (traceId: string) =>
      collector.spans.filter((span) => span.traceId === toW3cTraceId(traceId));
    expect(of(command.trace.trace_id)).toMatchObject([
      {
        name: 'execute_tool test:echo',
        kind: KIND.internal,
        parentSpanId: toW3cSpanId(command.trace.span_id),
        attributes: { 'gen_ai.tool.name': 'test:echo', 'starloom.tool.origin': 'user' },
      },
      { name: 'invoke_agent Percy Two', spanId: toW3cSpanId(command.trace.span_id) },
    ]);
    expect(of(message.trace.trace_id)).toMatchObject([
      {
        name: 'chat plugin',
        attributes: { 'gen_ai.response.model': 'm-1', 'gen_ai.usage.input_tokens': 7 },
      },
      {
        name: 'invoke_agent Percy Two',
        kind: KIND.internal,
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.id': 'percy-two',
          'gen_ai.agent.version': '1.2.0',
          'gen_ai.conversation.id': message.sessionId,
          'gen_ai.usage.output_tokens': 3,
        },
      },
    ]);
    expect(collector.resource).toMatchObject({ 'service.name': 'percy-two' });
    expect(JSON.stringify(collector.spans)).not.toContain('planted');
  });

  it('[G32][G33] has what failed, and lines that lead to the span', async () => {
    await using collector = await Collector.open();
    const provider: IProvider = {
      name: 'own',
      generate: async () => {
        throw new FabricError('OVERLOADED', 'The model is busy');
      },
    };
    const retry = { attempts: 2, firstWaitMs: 1, longestWaitMs: 1 };
    const agent = await openAgent({ config: config(collector.url), provider, retry });
    const trace = createTrace();
    await expect(agent.turn('Go.', { trace })).rejects.toMatchObject({ code: 'OVERLOADED' });
    await agent.close();
    const traceId = toW3cTraceId(trace.trace_id);
    const spanId = toW3cSpanId(trace.span_id);
    expect(collector.spans).toMatchObject([
      { name: 'chat plugin', status: { code: 2 }, attributes: { 'error.type': 'OVERLOADED' } },
      { name: 'invoke_agent Percy Two', spanId, status: { code: 2, message: 'The model is busy' } },
    ]);
    expect(collector.lines).toMatchObject([
      { traceId, spanId, body: { stringValue: 'the model is asked again' } },
    ]);
  });

  it('[G33] has the calls that it refuses, with the trace of their answer', async () => {
    await using collector = await Collector.open();
    const telemetry = { otlp: collector.url };
    const mcp = { expose_tools: ['test:echo'] };
    await using world = await openFace({ agent: { telemetry, mcp }, tools: [echo] });
    await using client = await world.connectHttp(AUTO);
    const trace = createTrace();
    const result = await client.callTool({
      name: 'test.echo',
      arguments: { text: 'x' },
      _meta: toMeta(trace, { depth: 6, chain: [] }),
    });
    expect(result.isError).toBe(true);
    await collector.received(1);
    expect(collector.spans).toMatchObject([
      {
        name: 'tools/call test:echo',
        kind: KIND.server,
        traceId: toW3cTraceId(trace.trace_id),
        parentSpanId: toW3cSpanId(trace.span_id),
        status: { code: 2 },
        attributes: { 'error.type': 'RECURSION_LIMIT' },
      },
    ]);
  });
});

describe('the time of a span', () => {
  it('keeps the order of what happens within one millisecond', () => {
    const moments = [0.2, 0.9, 1.1, 1.3];
    const exactTime = createExactTime(() => moments.shift() ?? 0);
    const times = [1_000, 1_000, 1_001, 1_001].map((now) => exactTime(now));
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(new Set(times).size).toBe(4);
  });

  it('follows a clock that is set back', () => {
    const moments = [10, 20];
    const exactTime = createExactTime(() => moments.shift() ?? 0);
    expect([exactTime(5_000), exactTime(1_000)]).toEqual([5_000, 1_000]);
  });
});
