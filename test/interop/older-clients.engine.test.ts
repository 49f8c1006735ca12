import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, vi } from 'vitest';
import { startConformanceAgent } from '../conformance/agent.ts';
import {
  type GatewayWorld,
  LAUNCHER,
  startGateway,
  worldEnvironment,
  writeWorld,
} from '../support/start-gateway.ts';

/** How a client of the 2025-11-25 revision reaches the gateway. */
const WAYS = ['stdio', 'HTTP'] as const;
type Way = (typeof WAYS)[number];

async function openTransport(way: Way, world: GatewayWorld, stack: AsyncDisposableStack) {
  if (way === 'HTTP') {
    const { url, key } = stack.use(await startGateway(world));
    const headers = { authorization: `Bearer ${key}` };
    return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  }
  const { path: cwd } = stack.use(await writeWorld(world));
  const args = [LAUNCHER, 'up', '--stdio'];
  return new StdioClientTransport({
    command: process.execPath,
    args,
    cwd,
    env: worldEnvironment(cwd),
  });
}

async function openOlderClient(way: Way) {
  await using stack = new AsyncDisposableStack();
  const agent = stack.use(await startConformanceAgent());
  const world = {
    // One tool of the agent changes its own description.
    config: { telemetry: { log_level: 'warn' }, pinning: { mode: 'off' } },
    agents: [
      {
        agent_id: 'fixtures',
        trust_tier: 'local' as const,
        endpoint: { transport: 'http' as const, uri: agent.url },
        capabilities: agent.tools.map(({ name }) => ({ name })),
      },
    ],
  };
  const client = new Client(
    { name: 'older', version: '1' },
    {
      versionNegotiation: { mode: 'legacy' },
      capabilities: { sampling: {}, elicitation: {}, roots: {} },
    },
  );
  await client.connect(await openTransport(way, world, stack));
  stack.defer(() => client.close());
  const owned = stack.move();
  const call = (tool: string, given: Record<string, unknown> = {}) =>
    client.callTool({ name: `fixtures.${tool}`, arguments: given });
  return { client, call, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

describe.each(WAYS)('an older client over %s, with an agent of the current revision', (way) => {
  it("[G1] is asked what the agent asks, in its own revision's way", async () => {
    await using older = await openOlderClient(way);
    older.client.setRequestHandler('sampling/createMessage', () => ({
      role: 'assistant',
      content: { type: 'text', text: 'Paris' },
      model: 'none',
    }));
    older.client.setRequestHandler('elicitation/create', () => ({
      action: 'accept',
      content: { name: 'Ada' },
    }));
    older.client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///here' }] }));
    expect(await older.call('test_sampling', { prompt: 'Capital?' })).toMatchObject({
      content: [{ text: expect.stringContaining('Paris') }],
    });
    expect(await older.call('test_input_required_result_elicitation')).toMatchObject({
      content: [{ text: 'Hello, Ada!' }],
    });
    expect(await older.call('test_input_required_result_list_roots')).toMatchObject({
      content: [{ text: 'file:///here' }],
    });
  });

  it('[G1] hears what the agent logs, from the level it set on', async () => {
    await using older = await openOlderClient(way);
    const heard: unknown[] = [];
    older.client.setNotificationHandler('notifications/message', ({ params }) => {
      heard.push(params.data);
    });
    await older.client.setLoggingLevel('warning');
    await older.call('test_tool_with_logging');
    expect(heard).toEqual([]);
    await older.client.setLoggingLevel('info');
    await older.call('test_tool_with_logging');
    await vi.waitFor(() => expect(heard).toHaveLength(3), { timeout: 20_000 });
  });

  it('[G1] is told when lists of the agent change', async () => {
    await using older = await openOlderClient(way);
    const changed = new Set<string>();
    older.client.setNotificationHandler('notifications/tools/list_changed', () => {
      changed.add('tools');
    });
    older.client.setNotificationHandler('notifications/prompts/list_changed', () => {
      changed.add('prompts');
    });
    await older.client.callTool({
      name: 'fabric.agent.describe',
      arguments: { agent_id: 'fixtures' },
    });
    await older.call('test_simple_text');
    changed.clear();
    await vi.waitFor(
      async () => {
        await older.call('test_trigger_tool_change');
        await older.call('test_trigger_prompt_change');
        expect([...changed].sort()).toEqual(['prompts', 'tools']);
      },
      { timeout: 10_000, interval: 200 },
    );
  });

  it('[G1] follows a resource of the agent, until it wants no more', async () => {
    await using older = await openOlderClient(way);
    const updated: string[] = [];
    older.client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      updated.push(params.uri);
    });
    const uri = 'starloom:fixtures:test://watched-resource';
    await older.client.subscribeResource({ uri });
    await vi.waitFor(
      async () => {
        await older.call('test_trigger_resource_change');
        expect(updated).toContain(uri);
      },
      { timeout: 10_000, interval: 200 },
    );
    await older.client.unsubscribeResource({ uri });
    const before = updated.length;
    await older.call('test_trigger_resource_change');
    await older.call('test_simple_text');
    expect(updated.length).toBe(before);
  });
});
