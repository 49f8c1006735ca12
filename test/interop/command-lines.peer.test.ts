import type { Client } from '@modelcontextprotocol/client';
import { describeWithPeer, temporaryFolder } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { callWithEvents, connect } from '../support/connect.ts';
import { descendantsOf, running } from '../support/descendants.ts';
import { type RunningGateway, startGateway } from '../support/start-gateway.ts';
import { COMMAND_LINES } from './command-lines.ts';
import { type ModelServer, startModelServer } from './model-server.ts';

const PONG = 'pong from stub';

describe.each(COMMAND_LINES)('[G25] command line $name', (line) => {
  describeWithPeer(line.name, line.prepare, (modules) => {
    const stack = new AsyncDisposableStack();
    let model: ModelServer;
    let gateway: RunningGateway;
    let client: Client;

    beforeAll(async () => {
      const home = stack.use(await temporaryFolder()).path;
      model = stack.use(await startModelServer());
      const endpoint = await line.endpoint({ modules, home, model: model.url });
      const capabilities = [{ name: 'ask', streaming: true, timeout_ms: 120_000 }];
      gateway = stack.use(
        await startGateway({
          config: { telemetry: { log_level: 'warn' } },
          agents: [{ agent_id: 'cli', trust_tier: 'local', endpoint, capabilities }],
        }),
      );
      client = stack.use(await connect(gateway));
    });

    afterAll(() => stack.disposeAsync());

    const call = async (given: Record<string, unknown>) => {
      const { structuredContent } = await client.callTool(
        { name: 'fabric.call', arguments: { capability: 'ask', agent_id: 'cli', ...given } },
        { timeout: 120_000 },
      );
      return structuredContent as Record<string, unknown>;
    };

    it('answers a prompt that looks like an option', async () => {
      const answered = await call({ task: '--help me.' });
      expect(answered).toMatchObject({ ok: true, result: { answer: PONG } });
      expect(model.requests.some((body) => body.includes('--help me.'))).toBe(true);
    });

    it('shows its words and its tools as they come', async () => {
      const { result, events } = await callWithEvents(client, 'cli.ask', { task: line.tool });
      expect(result.isError).toBeFalsy();
      const text = events.flatMap(({ type, data }) => (type === 'token' ? data.text : []));
      expect(text.join('')).toContain(PONG);
      const phases = events.flatMap(({ type, data }) => (type === 'tool_call' ? data.phase : []));
      expect(phases).toEqual(['start', 'end']);
    });

    if (line.keepsConversations) {
      it('goes on with a conversation', async () => {
        const first = await call({ task: 'Remember the word zebra.' });
        expect(first).toMatchObject({ ok: true, conversation_id: expect.any(String) });
        const { conversation_id } = first;
        expect(await call({ task: 'Once more.', conversation_id })).toMatchObject({ ok: true });
        const next = model.requests.filter((body) => body.includes('Once more.'));
        expect(next.some((body) => body.includes('zebra'))).toBe(true);
      });
    }

    it('is gone when the caller leaves', async () => {
      // What stays between calls: the guard that ends agents when the gateway is killed.
      const resident = new Set(descendantsOf(gateway.pid));
      const control = new AbortController();
      const slow = client.callTool(
        { name: 'cli.ask', arguments: { task: 'SLOWLY now.' } },
        { signal: control.signal },
      );
      slow.catch(() => {});
      const before = model.requests.length;
      await vi.waitFor(
        () => {
          const slowly = model.requests.slice(before).some((body) => body.includes('SLOWLY'));
          expect(slowly).toBe(true);
        },
        { timeout: 60_000 },
      );
      const children = descendantsOf(gateway.pid).filter((pid) => !resident.has(pid));
      expect(children.length).toBeGreaterThan(0);
      control.abort();
      await expect(slow).rejects.toThrow();
      await vi.waitFor(() => expect(running(children)).toEqual([]), { timeout: 20_000 });
    });
  });
});
