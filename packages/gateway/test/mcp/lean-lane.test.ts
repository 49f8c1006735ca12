import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { FabricError } from '@starloom/core';
import { createPskVerifier, LOCAL_PRINCIPAL } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { findLeanTool, OLDER_REVISIONS } from '../../src/mcp/lean-lane.ts';
import type { GatewayTools } from '../../src/tools/catalog.ts';
import { answers, fails, KEY, openTestGateway, type TestAgent } from '../test-gateway.ts';
import { OlderClient, type Reply } from './older-client.ts';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
/** A request for log messages is one of the things that this lane leaves to the SDK. */
const THROUGH_SDK = { 'io.modelcontextprotocol/logLevel': 'emergency' };

/** And so is what an older client says in the words of the current revision. */
const OLDER_THROUGH_SDK = { 'io.modelcontextprotocol/related': 1 };

const toBody = (name: string, args: unknown, meta: object = {}) => ({
  jsonrpc: '2.0',
  id: 'a-1',
  method: 'tools/call',
  params: { name, arguments: args, _meta: { ...META, ...meta } },
});
const toHeaders = (name: string) => ({
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': name,
});

async function post(url: string, name: string, args: unknown, meta: object) {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      ...toHeaders(name),
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(toBody(name, args, meta)),
  });
  const text = await response.text();
  const type = response.headers.get('content-type')?.split(';')[0];
  const messages =
    type === 'text/event-stream'
      ? text
          .trim()
          .split('\n\n')
          .map((frame) => frame.replace(/^event: message\ndata: /, ''))
      : [text];
  return { status: response.status, type, messages: messages.map((each) => steady(each)) };
}

/** Without what differs from call to call. */
function steady(text: string): unknown {
  const quiet = text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/(\\?"ms\\?":)\d+/g, '$10')
    .replaceAll(/(\\?"uptime_s\\?":)\d+/g, '$10')
    .replaceAll(/(\\?"latency_ms\\?":)\d+/g, '$10');
  return JSON.parse(quiet);
}

describe('the lean lane', () => {
  it('knows the older revisions that the SDK knows', () => {
    expect([...OLDER_REVISIONS]).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
  });

  const content = [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }];
  const agents: Record<string, TestAgent> = {
    percy: { run: answers('well', { type: 'token', data: { text: 'we' } }) },
    broken: { run: fails(new FabricError('BAD_INPUT', 'broken')) },
    eye: {
      run: async function* () {
        yield { type: 'final', data: { answer: '', content, data: { size: 3 } } };
      },
    },
    strict: {
      run: fails(
        new FabricError('BAD_INPUT', 'refused', {
          details: {
            reason: 'missing_client_capability',
            rpc: { code: -32_021, message: 'missing', data: { requiredCapabilities: {} } },
          },
        }),
      ),
    },
    loud: {
      run: async function* (_envelope, _signal, { notify }) {
        const params = { level: 'info', data: { at: 'work' }, logger: 'loud' };
        await notify?.({ method: 'notifications/message', params });
        await notify?.({ method: 'notifications/other', params: {} });
        yield { type: 'final', data: { answer: 'said' } };
      },
    },
  };

  const calls: [string, string, object | undefined][] = [
    ['a call', 'fabric.call', { agent_id: 'percy', capability: 'work' }],
    ['a call by underscores', 'fabric_call', { agent_id: 'percy', capability: 'work' }],
    ['a failing call', 'fabric.call', { agent_id: 'broken', capability: 'work' }],
    ['wrong arguments', 'fabric.call', { capability: 7 }],
    ['no arguments', 'fabric.agent.list', undefined],
    ['a capability tool', 'percy.work', { task: 'x' }],
    ['a capability tool with content of its own', 'eye.work', {}],
    ['a failing capability tool', 'broken.work', {}],
    ['a refusal of the agent', 'strict.work', {}],
    ['an agent that logs', 'loud.work', {}],
  ];

  it.each(calls)('answers %s as the SDK does, with and without events', async (_, name, args) => {
    await using gateway = await openTestGateway(agents);
    for (const meta of [{}, { progressToken: 't' }, { progressToken: 7 }]) {
      const lean = await post(gateway.url, name, args, meta);
      const sdk = await post(gateway.url, name, args, { ...meta, ...THROUGH_SDK });
      expect(lean).toEqual(sdk);
    }
  });

  const many = Array.from({ length: 300 }, (_, index) => ({
    name: `work_${index}`,
    description: 'Größe, 大きさ and 📏. '.repeat(20),
  }));
  it.each([
    ['the tools', agents],
    [
      'very many tools',
      { ...agents, many: { run: answers('well'), manifest: { capabilities: many } } },
    ],
  ] as const)('lists %s as the SDK does, to each caller its own and again', async (_name, all) => {
    const psk = createPskVerifier([
      { key_id: 'all', key: KEY, principal: 'all', tier: 'org', scopes: ['*'] },
      {
        key_id: 'one',
        key: 'key-of-one-agent',
        principal: 'one',
        tier: 'org',
        scopes: ['agent:eye'],
      },
    ]);
    await using gateway = await openTestGateway(all, { psk });
    const list = async (key: string, meta: object, clientName: string) => {
      const clientInfo = { name: clientName, version: '0' };
      const answer = await fetch(`${gateway.url}/mcp`, {
        method: 'POST',
        headers: {
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/list',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 'a-1',
          method: 'tools/list',
          params: { _meta: { ...META, 'io.modelcontextprotocol/clientInfo': clientInfo, ...meta } },
        }),
      });
      const body = (await answer.json()) as { result: { tools: { name: string }[] } };
      return { status: answer.status, body };
    };
    for (const [key, client] of [
      [KEY, 'test'],
      ['key-of-one-agent', 'test'],
      [KEY, 'claude-code'],
      [KEY, 'test'],
    ] as const) {
      const lean = await list(key, {}, client);
      expect(lean).toEqual(await list(key, THROUGH_SDK, client));
      expect(lean.body).toMatchObject({ id: 'a-1', result: { tools: expect.any(Array) } });
    }
    const { body } = await list('key-of-one-agent', {}, 'test');
    const names = body.result.tools.map(({ name }) => name);
    expect(names).toContain('eye.work');
    expect(names).not.toContain('percy.work');
  });

  describe.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])('of %s', (version) => {
    /** In their order, but log messages come when they come among the events. */
    const said = ({ status, messages }: Reply) => {
      const { true: logs = [], false: others = [] } = Object.groupBy(messages, ({ method }) =>
        method === 'notifications/message' ? 'true' : 'false',
      );
      const steadied = [...logs, ...others].map((message) => steady(JSON.stringify(message)));
      return { status, messages: steadied };
    };

    it.each(calls)('answers %s as the SDK does, without a session', async (_, name, args) => {
      await using gateway = await openTestGateway(agents);
      const client = new OlderClient(gateway.url, { version });
      for (const meta of [undefined, {}, { progressToken: 't' }, { progressToken: 7 }]) {
        const lean = await client.call(name, args, meta);
        const sdk = await client.call(name, args, { ...meta, ...OLDER_THROUGH_SDK });
        expect(said(lean)).toEqual(said(sdk));
        const isStreamed = lean.messages.length > 1;
        expect(lean.type).toBe(isStreamed ? 'text/event-stream' : 'application/json');
      }
    });

    it.each(calls)('answers %s as the SDK does, in a session', async (_, name, args) => {
      await using gateway = await openTestGateway(agents);
      const client = await OlderClient.open(gateway.url, { version });
      for (const meta of [undefined, {}, { progressToken: 't' }, { progressToken: 7 }]) {
        const lean = await client.call(name, args, meta);
        const sdk = await client.call(name, args, { ...meta, ...OLDER_THROUGH_SDK });
        expect(said(lean)).toEqual(said(sdk));
        if (client.sessionId) expect(lean.type).toBe(sdk.type);
      }
    });
  });

  describe('leaves to the SDK', () => {
    const tool = {
      definition: { name: 't', inputSchema: {} },
      mayUse: () => true,
      run: async () => ({ content: [] }),
    };
    const find: GatewayTools['find'] = (name) => (name === 't' ? tool : undefined);
    const read = (body: unknown, headers: object = toHeaders('t')) =>
      findLeanTool(body, { ...headers }, { find }, LOCAL_PRINCIPAL);

    const olderHeaders = { accept: 'application/json, text/event-stream' };
    const older = (name: string, more: object = {}) => ({
      jsonrpc: '2.0',
      id: 'a-1',
      method: 'tools/call',
      params: { name, arguments: {}, ...more },
    });

    it('nothing of a call that has everything right', () => {
      expect(read(toBody('t', {}))).toBe(tool);
      expect(read(older('t'), olderHeaders)).toBe(tool);
      expect(read(older('t', { _meta: { x: 1 } }), olderHeaders)).toBe(tool);
    });

    it.each([
      ['an unknown tool', toBody('other', {}), toHeaders('other')],
      ['another method', { ...toBody('t', {}), method: 'tools/list' }],
      ['a notification', { ...toBody('t', {}), id: undefined }],
      ['a batch', [toBody('t', {})]],
      ['arguments that are a list', toBody('t', [])],
      ['a name that is not in the header', toBody('t', {}), toHeaders('x')],
      ['another method in the header', toBody('t', {}), { ...toHeaders('t'), 'mcp-method': 'x' }],
      [
        'two revisions, the older one in the header',
        toBody('t', {}),
        { ...toHeaders('t'), 'mcp-protocol-version': '2025-11-25' },
      ],
      [
        'a revision that is not known',
        older('t'),
        { ...toHeaders('t'), 'mcp-protocol-version': '2025-01-01' },
      ],
      [
        'what an older client says in the words of the current revision',
        older('t', { _meta: OLDER_THROUGH_SDK }),
        olderHeaders,
      ],
      ['a task of an older client', older('t', { task: {} }), olderHeaders],
      [
        'a progress token that is none',
        older('t', { _meta: { progressToken: 1.5 } }),
        olderHeaders,
      ],
      ['an older client that takes no streams', older('t'), { accept: 'application/json' }],
      [
        'two revisions',
        toBody('t', {}, { 'io.modelcontextprotocol/protocolVersion': '2025-11-25' }),
      ],
      ['a client without a name', toBody('t', {}, { 'io.modelcontextprotocol/clientInfo': {} })],
      ['no capabilities', toBody('t', {}, { 'io.modelcontextprotocol/clientCapabilities': 1 })],
      ['a wish for log messages', toBody('t', {}, THROUGH_SDK)],
      [
        'answers to what an agent asked',
        { ...toBody('t', {}), params: { ...toBody('t', {}).params, requestState: 'x' } },
      ],
      [
        'a client that takes no streams',
        toBody('t', {}),
        { ...toHeaders('t'), accept: 'application/json' },
      ],
    ])('%s', (_, body, headers?: object) => {
      expect(read(body, headers)).toBeUndefined();
    });
  });
});
