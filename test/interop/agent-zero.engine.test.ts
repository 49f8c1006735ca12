import type { Client } from '@modelcontextprotocol/client';
import { describeWithPeer } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../support/connect.ts';
import { startGateway } from '../support/start-gateway.ts';
import { preparePythonAgents, startPythonAgent } from './python-agent.ts';

const CARD = '/a2a/.well-known/agent.json';

describeWithPeer(
  "fasta2a 0.5.0, the library of Agent Zero's A2A face",
  preparePythonAgents,
  (python) => {
    describe.each(['a2a', 'auto'])('with lane %s', (lane) => {
      const stack = new AsyncDisposableStack();
      let client: Client;

      beforeAll(async () => {
        const server = stack.use(await startPythonAgent(python, 'fast_a2a_server.py', CARD));
        const endpoint = {
          transport: 'http' as const,
          protocol: 'agent-zero',
          uri: server.uri,
          headers: { 'X-API-KEY': 'a-token-of-the-test' },
          options: { lane, poll_ms: 100 },
        };
        const agents = [{ agent_id: 'zero', endpoint, trust_tier: 'local' as const }];
        client = stack.use(await connect(stack.use(await startGateway({ agents }))));
      });

      afterAll(() => stack.disposeAsync());

      const call = async (task: string, more: Record<string, unknown> = {}) => {
        const given = { agent_id: 'zero', capability: 'ask', task, ...more };
        const { structuredContent } = await client.callTool({
          name: 'fabric.call',
          arguments: given,
        });
        return structuredContent;
      };

      it('[G23] is listed with its one capability', async () => {
        const { tools } = await client.listTools();
        expect(tools.map(({ name }) => name)).toContain('zero.ask');
      });

      it('[G23] answers', async () => {
        expect(await call('hello')).toMatchObject({ ok: true, result: { answer: 'echo: hello' } });
      });

      it("[G23] fails with the agent's own answer", async () => {
        expect(await call('fail now')).toMatchObject({
          ok: false,
          error: {
            code: 'UPSTREAM_ERROR',
            details: { reason: 'tool_error', upstream: { state: 'failed' } },
          },
        });
      });

      it('[G23] serves several calls, one after the other', async () => {
        const words = ['one', 'two', 'three', 'four'];
        const answers = await Promise.all(words.map((word) => call(word)));
        expect(answers).toMatchObject(
          words.map((word) => ({ ok: true, result: { answer: `echo: ${word}` } })),
        );
      });

      it('[G23] is alive after a call was cancelled', async () => {
        const late = await call('slow one', { timeout_ms: 500, deadline_ms: 500 });
        expect(late).toMatchObject({ error: { code: 'TIMEOUT' } });
        expect(await call('hello')).toMatchObject({ ok: true, result: { answer: 'echo: hello' } });
      });
    });
  },
);
