import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import type { ManifestInput } from '@starloom/core';
import { describeWithPeer, freePort, preparePython } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callWithEvents, connect } from '../support/connect.ts';
import { startGateway } from '../support/start-gateway.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const prepare = () => preparePython(here('servers/a2a-requirements.txt'));

const WAYS = (['jsonrpc', 'rest', 'grpc'] as const).flatMap((binding) =>
  (['1.0', '0.3'] as const).map((version) => ({ binding, version })),
);

describeWithPeer('an agent of the Python SDK of A2A', prepare, (python) => {
  const stack = new AsyncDisposableStack();
  let client: Client;

  beforeAll(async () => {
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    const agent = await spawnProcess({
      command: python,
      args: [here('servers/a2a_agent.py'), ...ports.map(String)],
      env: childEnvironment({}),
    });
    stack.defer(async () => {
      await agent.stop();
    });
    const { value } = await agent.lines()[Symbol.asyncIterator]().next();
    expect(value, agent.stderrTail()).toBe('ready');
    const agents = WAYS.map((way) => toManifest(way, ports));
    const config = { telemetry: { log_level: 'warn' } };
    client = stack.use(await connect(stack.use(await startGateway({ agents, config }))));
  });

  afterAll(() => stack.disposeAsync());

  describe.each(WAYS)('over $binding, $version', ({ binding, version }) => {
    const agent_id = idOf(binding, version);
    const call = async (task: string, more: Record<string, unknown> = {}) => {
      const asked = { agent_id, capability: 'work', task, stream: true, ...more };
      const { result, events } = await callWithEvents(client, 'fabric.call', asked);
      // biome-ignore lint/suspicious/noExplicitAny: the payload is read, not computed with
      return { payload: result.structuredContent as any, events };
    };

    it('streams its answer', async () => {
      const { payload, events } = await call('stream one two three');
      expect(payload).toMatchObject({ ok: true, result: { answer: 'onetwothree' } });
      expect(payload.result.artifacts).toMatchObject([{ id: 'answer', text: 'onetwothree' }]);
      const texts = events.flatMap((event) => (event.type === 'token' ? event.data.text : []));
      expect(texts.join('')).toBe('onetwothree');
      expect(events).toContainEqual(
        expect.objectContaining({ type: 'progress', data: { message: 'working' } }),
      );
    });

    it('answers with its own error', async () => {
      const { payload } = await call('fail');
      expect(payload.error).toMatchObject({
        code: 'UPSTREAM_ERROR',
        details: { reason: 'tool_error', upstream: 'no such city' },
      });
    });

    it('asks, and goes on with the answer', async () => {
      const { payload } = await call('ask');
      expect(payload.error).toMatchObject({
        code: 'INPUT_REQUIRED',
        details: { inputs: [{ kind: 'text', message: 'Which city?' }] },
      });
      const { conversation_id, inputs } = payload.error.details;
      const response = { action: 'accept', content: { text: 'Rome' } };
      const answered = await call('ask', {
        conversation_id,
        inputs: [{ id: inputs[0].id, response }],
      });
      expect(answered.payload).toMatchObject({ ok: true, result: { answer: 'you said Rome' } });
    });

    it('keeps a conversation', async () => {
      const { payload } = await call('remember blue');
      const { conversation_id } = payload;
      expect((await call('recall', { conversation_id })).payload.result.answer).toBe('blue');
      expect((await call('recall')).payload.result.answer).toBe('nothing');
    });

    it('is cancelled when time is up', async () => {
      const before = Number((await call('cancelled')).payload.result.answer);
      const { payload } = await call('hang', { timeout_ms: 500 });
      expect(payload.error.code).toBe('TIMEOUT');
      await expect
        .poll(async () => Number((await call('cancelled')).payload.result.answer))
        .toBe(before + 1);
    });
  });
});

function idOf(binding: string, version: string): string {
  return `${binding}-${version.replace('.', '-')}`;
}

function toManifest(
  { binding, version }: (typeof WAYS)[number],
  [http, ...grpc]: readonly number[],
): ManifestInput {
  const origins = grpc.map((port) => `grpc://127.0.0.1:${port}`);
  return {
    agent_id: idOf(binding, version),
    endpoint: {
      transport: 'http',
      protocol: 'a2a',
      uri: `http://127.0.0.1:${http}`,
      options: { binding, version, origins },
    },
    trust_tier: 'org',
  };
}
