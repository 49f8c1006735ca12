import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { describeWithPeer, temporaryFolder } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { callWithEvents, connect } from '../support/connect.ts';
import { descendantsOf, running } from '../support/descendants.ts';
import { type RunningGateway, startGateway } from '../support/start-gateway.ts';
import { EDITOR_AGENTS } from './editor-agents.ts';
import { type ModelServer, startModelServer } from './model-server.ts';

const PONG = 'pong from stub';

describe.each(EDITOR_AGENTS)('editor agent $name', (agent) => {
  describeWithPeer(agent.name, agent.prepare, (modules) => {
    const stack = new AsyncDisposableStack();
    let home: string;
    let model: ModelServer;
    let gateway: RunningGateway;
    let client: Client;

    beforeAll(async () => {
      home = stack.use(await temporaryFolder()).path;
      model = stack.use(await startModelServer());
      const endpoint = await agent.endpoint({ modules, home, model: model.url });
      const allowing = { ...endpoint, options: { ...endpoint.options, permissions: 'allow' } };
      gateway = stack.use(
        await startGateway({
          config: { telemetry: { log_level: 'warn' } },
          agents: [
            { agent_id: 'asking', trust_tier: 'local', endpoint },
            { agent_id: 'allowed', trust_tier: 'local', endpoint: allowing },
          ],
        }),
      );
      client = stack.use(await connect(gateway));
      await vi.waitFor(
        async () => {
          const { tools } = await client.listTools();
          expect(tools.map(({ name }) => name)).toContain('asking.prompt');
        },
        { timeout: 120_000, interval: 500 },
      );
    });

    afterAll(() => stack.disposeAsync());

    const call = async (given: Record<string, unknown>) => {
      const request = { capability: 'prompt', agent_id: 'asking', ...given };
      const { structuredContent } = await client.callTool(
        { name: 'fabric.call', arguments: request },
        { timeout: 120_000 },
      );
      return structuredContent as Called;
    };

    it('answers a prompt, and its words stream', async () => {
      const { result, events } = await callWithEvents(client, 'asking.prompt', { prompt: 'Ping.' });
      expect(result.isError).toBeFalsy();
      const text = events.flatMap(({ type, data }) => (type === 'token' ? data.text : [])).join('');
      expect(text).toContain(PONG);
      expect(events.at(-1)).toMatchObject({ type: 'final' });
      expect(result.content).toMatchObject([{ text: expect.stringContaining(PONG) }]);
    });

    it('keeps the conversation', async () => {
      const first = await call({ task: 'Remember the word zebra.' });
      expect(first).toMatchObject({ ok: true, conversation_id: expect.any(String) });
      const before = model.requests.length;
      const next = await call({ task: 'Again.', conversation_id: first.conversation_id });
      expect(next).toMatchObject({ ok: true });
      expect(model.requests.slice(before).some((body) => body.includes('zebra'))).toBe(true);
      await call({ task: 'Something else.' });
      const fresh = model.requests.filter((body) => body.includes('Something else.'));
      expect(fresh.length).toBeGreaterThan(0);
      expect(fresh.filter((body) => body.includes('zebra'))).toEqual([]);
    });

    it('stops when the caller leaves, and serves the next call', async () => {
      const control = new AbortController();
      const words: string[] = [];
      const slow = client.callTool(
        { name: 'asking.prompt', arguments: { prompt: 'SLOWLY now.' } },
        {
          signal: control.signal,
          onprogress: ({ message }) => {
            words.push(message ?? '');
            control.abort();
          },
        },
      );
      await expect(slow).rejects.toThrow();
      expect(words.length).toBeLessThan(60);
      expect(await call({ task: 'Ping.' })).toMatchObject({ ok: true });
    });

    if (agent.write !== undefined) {
      it('uses a tool with the permission of the manifest, and shows it', async () => {
        writeFileSync(join(home, 'made.txt'), 'before');
        const { result, events } = await callWithEvents(client, 'allowed.prompt', {
          prompt: agent.write,
        });
        expect(result.isError).toBeFalsy();
        const phases = events.flatMap(({ type, data }) => (type === 'tool_call' ? data.phase : []));
        expect(phases).toEqual(['start', 'end']);
        expect(readFileSync(join(home, 'made.txt'), 'utf8')).toBe('written');
      });

      it('asks the caller for permission, and goes on with the answer', async () => {
        writeFileSync(join(home, 'made.txt'), 'before');
        const asked = await call({ task: agent.write });
        expect(asked).toMatchObject({ ok: false, error: { code: 'INPUT_REQUIRED' } });
        expect(readFileSync(join(home, 'made.txt'), 'utf8')).toBe('before');
        const { inputs, conversation_id } = asked.error.details;
        const [question] = inputs;
        expect(question).toMatchObject({ kind: 'choice' });
        const once = question?.options.find(({ kind }) => kind === 'allow_once');
        const response = { action: 'accept', content: { choice: once?.id } };
        const answered = await call({ conversation_id, inputs: [{ id: question?.id, response }] });
        expect(answered).toMatchObject({ ok: true });
        expect(readFileSync(join(home, 'made.txt'), 'utf8')).toBe('written');
      });
    }

    it('leaves no process behind when the gateway stops', async () => {
      const children = descendantsOf(gateway.pid);
      expect(children.length).toBeGreaterThan(0);
      expect(await gateway.stop()).toBe(0);
      await vi.waitFor(() => expect(running(children)).toEqual([]), { timeout: 20_000 });
    });
  });
});

interface Called {
  readonly conversation_id: string;
  readonly error: {
    readonly details: {
      readonly conversation_id: string;
      readonly inputs: readonly {
        readonly id: string;
        readonly options: readonly { readonly id: string; readonly kind: string }[];
      }[];
    };
  };
}
