import type { Client } from '@modelcontextprotocol/client';
import { describeWithPeer, temporaryFolder } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callWithEvents, connect } from '../support/connect.ts';
import { startGateway } from '../support/start-gateway.ts';
import { answerTo, type CallPayload, ticksNow } from './call-payload.ts';
import { prepareHttpAgents, startPythonAgent } from './python-agent.ts';

/** The agent behind a gateway, and a way to call its one capability. */
function world(python: string, script: string, path: string, options: object, capability: string) {
  const stack = new AsyncDisposableStack();
  let client: Client;
  beforeAll(async () => {
    const folder = stack.use(await temporaryFolder());
    const server = stack.use(await startPythonAgent(python, script, path, folder.path));
    const endpoint = {
      transport: 'http' as const,
      protocol: 'http',
      uri: server.uri,
      options: { ...options },
    };
    const described = {
      ...endpoint,
      options: { profile: 'openapi', document: `${server.uri}/openapi.json` },
    };
    const agents = [
      { agent_id: 'peer', endpoint, trust_tier: 'local' as const },
      { agent_id: 'described', endpoint: described, trust_tier: 'local' as const },
    ];
    client = stack.use(await connect(stack.use(await startGateway({ agents }))));
  }, 120_000);
  afterAll(() => stack.disposeAsync());
  return async (task: string, more: Record<string, unknown> = {}) => {
    const given = { agent_id: 'peer', capability, task, stream: true, ...more };
    const { result, events } = await callWithEvents(client, 'fabric.call', given);
    const payload = result.structuredContent as unknown as CallPayload;
    const tokens = events.flatMap(({ type, data }) => (type === 'token' ? data.text : []));
    return { payload, events, text: tokens.join('') };
  };
}

describeWithPeer('servers of other projects over HTTP', prepareHttpAgents, (python) => {
  describe('LangGraph server', () => {
    const call = world(python, 'graph_server.py', '/ok', { profile: 'langgraph' }, 'talk');

    it('[G26] streams tokens and progress, and answers', async () => {
      const { payload, events, text } = await call('good morning');
      expect(payload).toMatchObject({ ok: true, result: { answer: 'heard good morning' } });
      expect(text).toBe('heard good morning');
      expect(events).toContainEqual(
        expect.objectContaining({ data: { percent: 50, message: 'half way' } }),
      );
    });

    it('[G26] brings tool calls and the rest of the state', async () => {
      expect((await call('tools')).payload.result).toMatchObject({
        answer: 'two',
        data: { total: 2 },
        tool_calls: [{ id: 'call-1', name: 'add', args: { a: 1 }, result: '2' }],
      });
    });

    it('[G26] keeps a thread as a conversation', async () => {
      const first = await call('count');
      expect(first.payload.result).toMatchObject({ answer: '1' });
      const { conversation_id } = first.payload;
      const second = await call('count', { conversation_id });
      expect(second.payload.result).toMatchObject({ answer: '3' });
    });

    it('[G26] asks by an interrupt, and goes on in a later call', async () => {
      const { payload } = await call('ask');
      const later = await call('ask', answerTo(payload, 'Ada'));
      expect(later.payload.result).toMatchObject({ answer: 'hello Ada' });
    });

    it("[G26] passes on a failure as the agent's own answer", async () => {
      expect((await call('fail')).payload.error).toMatchObject({
        code: 'UPSTREAM_ERROR',
        details: { reason: 'tool_error', upstream: { message: 'out of paper' } },
      });
    });

    it('[G26] cancels a run whose time is up', async () => {
      const { payload } = await call('slow', { timeout_ms: 3_000, deadline_ms: 3_000 });
      expect(payload.error).toMatchObject({ code: 'TIMEOUT' });
      const ticks = async () => Number((await call('ticks')).payload.result?.answer);
      await expect.poll(() => ticksNow(ticks), { timeout: 30_000 }).toBe(0);
    });
  });

  describe('the OpenAPI document of the LangGraph server', () => {
    const options = { profile: 'langgraph' };
    const call = world(python, 'graph_server.py', '/ok', options, 'talk');
    const described = (capability: string, given: object) =>
      call('', { agent_id: 'described', capability, task: undefined, arguments: given });

    it('[G26] makes its operations capabilities, with bodies and paths', async () => {
      const searched = await described('search_assistants_assistants_search_post', {
        body: { limit: 1 },
      });
      expect(searched.payload).toMatchObject({ ok: true, result: { data: [{ name: 'talk' }] } });
      const { data } = searched.payload.result as { data: [{ assistant_id: string }] };
      const [{ assistant_id }] = data;
      const one = await described('get_assistant_assistants__assistant_id__get', { assistant_id });
      expect(one.payload).toMatchObject({ ok: true, result: { data: { graph_id: 'talk' } } });
    });

    it('[G26] refuses arguments that do not fit its schemas', async () => {
      const refused = await described('search_assistants_assistants_search_post', {
        body: { limit: 'many' },
      });
      expect(refused.payload.error).toMatchObject({ code: 'BAD_INPUT' });
    });
  });

  describe('AG-UI of Pydantic AI', () => {
    const options = { profile: 'ag-ui', history_bytes: 8_192 };
    const call = world(python, 'ag_ui_server.py', '/', options, 'ask');

    it('[G26] streams tokens, and answers', async () => {
      const { payload, text } = await call('good morning');
      expect(payload).toMatchObject({ ok: true, result: { answer: 'heard good morning' } });
      expect(text).toBe('heard good morning');
    });

    it('[G26] brings the tools that ran there', async () => {
      expect((await call('tools')).payload.result).toMatchObject({
        answer: 'heard tools 3',
        tool_calls: [{ id: 'call-1', name: 'add', args: { x: 1, y: 2 }, result: '3' }],
      });
    });

    it('[G26] goes on with the history where the agent keeps none', async () => {
      const { conversation_id } = (await call('count')).payload;
      const second = await call('count', { conversation_id });
      expect(second.payload.result).toMatchObject({ answer: '2' });
    });

    it("[G26] passes on a failure as the agent's own answer", async () => {
      expect((await call('fail')).payload.error).toMatchObject({
        code: 'UPSTREAM_ERROR',
        details: { reason: 'tool_error' },
      });
    });
  });
});
