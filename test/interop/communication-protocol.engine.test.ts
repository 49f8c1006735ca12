import type { Client } from '@modelcontextprotocol/client';
import { describeWithPeer } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callWithEvents, connect } from '../support/connect.ts';
import { startGateway } from '../support/start-gateway.ts';
import { answerTo, type CallPayload, ticksNow } from './call-payload.ts';
import { preparePythonAgents, startPythonAgent } from './python-agent.ts';

describeWithPeer('acp-sdk, the reference server', preparePythonAgents, (python) => {
  describe.each(['stream', 'async', 'sync'])('with %s runs', (mode) => {
    const stack = new AsyncDisposableStack();
    let client: Client;

    beforeAll(async () => {
      const server = stack.use(await startPythonAgent(python, 'communication_server.py', '/ping'));
      const endpoint = {
        transport: 'http' as const,
        protocol: 'agent-communication-protocol',
        uri: server.uri,
        options: { mode },
      };
      const agents = [{ agent_id: 'peer', endpoint, trust_tier: 'local' as const }];
      client = stack.use(await connect(stack.use(await startGateway({ agents }))));
    });

    afterAll(() => stack.disposeAsync());

    const call = async (capability: string, more: Record<string, unknown> = {}) => {
      const given = { agent_id: 'peer', capability, task: 'hi', stream: true, ...more };
      const { result, events } = await callWithEvents(client, 'fabric.call', given);
      return { payload: result.structuredContent as unknown as CallPayload, events };
    };

    it('[G24] serves each agent of the server as a capability, with its description', async () => {
      const { tools } = await client.listTools();
      const names = tools.map(({ name }) => name).filter((name) => name.startsWith('peer.'));
      expect(names.sort()).toEqual(
        ['ask', 'echo', 'fail', 'memory', 'slow', 'talk', 'ticks'].map((name) => `peer.${name}`),
      );
      const echo = tools.find(({ name }) => name === 'peer.echo');
      expect(echo?.description).toContain('Answers with one message');
    });

    it('[G24] answers', async () => {
      const { payload } = await call('echo', { task: 'hello' });
      expect(payload).toMatchObject({ ok: true, result: { answer: 'echo: hello' } });
    });

    it('[G24] brings every kind of event, and the whole result', async () => {
      const { payload, events } = await call('talk');
      expect(payload.result).toMatchObject({
        answer: 'one two',
        data: { total: 2 },
        citations: [{ uri: 'https://example.org/', title: 'Example' }],
        tool_calls: [{ name: 'add', args: { a: 1 }, result: { sum: 2 } }],
        artifacts: [{ name: 'table.csv', media_type: 'text/csv', text: 'a,b\n1,2\n' }],
      });
      const types = new Set(events.map(({ type }) => type));
      expect(types).toContain('artifact');
      expect(types).toContain('tool_call');
      if (mode === 'sync') return;
      expect(events).toContainEqual(
        expect.objectContaining({ data: { percent: 50, message: 'half way' } }),
      );
      const tokens = events.flatMap(({ type, data }) => (type === 'token' ? data.text : []));
      expect(tokens.join('')).toBe('one two');
    });

    it('[G24] awaits, and goes on in a later call', async () => {
      const { payload } = await call('ask');
      const later = await call('ask', answerTo(payload, 'Ada'));
      expect(later.payload.result).toMatchObject({ answer: 'before hello Ada' });
    });

    it("[G24] passes on a failure as the agent's own answer", async () => {
      const { payload } = await call('fail');
      expect(payload.error).toMatchObject({
        code: 'UPSTREAM_ERROR',
        details: { reason: 'tool_error', upstream: { message: 'out of paper' } },
      });
    });

    it('[G24] keeps a session as a conversation', async () => {
      const first = await call('memory');
      expect(first.payload.result).toMatchObject({ answer: '0' });
      const { conversation_id } = first.payload;
      const second = await call('memory', { conversation_id });
      expect(second.payload.result).toMatchObject({ answer: '2' });
    });

    // The id of a sync run is known only when the run is over.
    if (mode === 'sync') return;

    it('[G24] cancels a run whose time is up', async () => {
      const { payload } = await call('slow', { timeout_ms: 1_000, deadline_ms: 1_000 });
      expect(payload.error).toMatchObject({ code: 'TIMEOUT' });
      const ticks = async () => Number((await call('ticks')).payload.result?.answer);
      await expect.poll(() => ticksNow(ticks), { timeout: 20_000 }).toBe(0);
    });
  });
});
