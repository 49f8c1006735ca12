// What MCP agents say reaches MCP clients whole, whichever revision the two speak.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  getToolUiResourceUri,
  isToolVisibilityAppOnly,
} from '@modelcontextprotocol/ext-apps/app-bridge';
import {
  getUiCapability,
  RESOURCE_MIME_TYPE,
  registerAppResource,
  registerAppTool,
} from '@modelcontextprotocol/ext-apps/server';
import {
  inputRequired,
  McpServer,
  type McpServerFactory,
  Server,
} from '@modelcontextprotocol/server';
import type { ManifestInput } from '@starloom/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  serveModern,
  serveSessions,
} from '../../packages/adapters/test/fixtures/mcp-http-server.ts';
import { openGateway } from './gateway.ts';

interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
  /** Absent in what the client itself reports between two rounds of a call. */
  readonly _meta?: object;
}

const ASK = {
  message: 'Go on?',
  requestedSchema: { type: 'object' as const, properties: { yes: { type: 'boolean' as const } } },
};

/** Counts to 20 in steps of 5, and asks after the second. */
const counting =
  (asks: boolean): McpServerFactory =>
  () => {
    const server = new Server(
      { name: 'counter', version: '4.5.6' },
      { capabilities: { tools: {} } },
    );
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'count', inputSchema: { type: 'object' as const } }],
    }));
    server.setRequestHandler('tools/call', async (_, { mcpReq }) => {
      const count = async (...values: number[]) => {
        for (const progress of values) {
          const params = {
            progressToken: mcpReq._meta?.progressToken ?? '',
            progress,
            total: 20,
            message: `${progress} done`,
          };
          await mcpReq.notify({ method: 'notifications/progress', params });
        }
      };
      const isModern = mcpReq.envelope !== undefined;
      if (!mcpReq.inputResponses) await count(5, 10);
      if (asks && !isModern) await server.elicitInput(ASK, { relatedRequestId: mcpReq.id });
      if (asks && isModern && !mcpReq.inputResponses) {
        const go = { method: 'elicitation/create' as const, params: ASK };
        return inputRequired({ inputRequests: { go }, requestState: 'half' }) as never;
      }
      await count(15, 20);
      return { content: [{ type: 'text', text: 'counted' }] };
    });
    return server;
  };

type Era = 'modern' | 'older';

async function open(
  factories: Record<string, readonly [Era, McpServerFactory, Partial<ManifestInput>?]>,
) {
  const agents = Object.entries(factories).map(async ([agent_id, [era, factory, manifest]]) => {
    const http = era === 'modern' ? await serveModern(factory) : await serveSessions(factory);
    onTestFinished(() => http.close());
    const endpoint = { transport: 'http' as const, uri: http.uri };
    return { agent_id, trust_tier: 'org' as const, endpoint, ...manifest };
  });
  const gateway = await openGateway(await Promise.all(agents));
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

async function connect(url: string, mode: 'auto' | 'legacy', capabilities = {}) {
  const client = new Client(
    { name: 'e2e', version: '0' },
    { versionNegotiation: { mode }, capabilities },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  onTestFinished(() => client.close());
  return client;
}

describe('progress of an MCP agent', () => {
  const eras = [
    ['auto', 'modern'],
    ['auto', 'older'],
    ['legacy', 'modern'],
    ['legacy', 'older'],
  ] as const;

  const follow = async (client: Client, name: string, args = {}) => {
    const heard: Progress[] = [];
    const onprogress = (said: Progress) => void (said._meta && heard.push(said));
    const result = await client.callTool({ name, arguments: args }, { onprogress });
    expect(result.isError).toBeFalsy();
    const values = heard.map(({ progress }) => progress);
    expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
    return heard;
  };

  const counted = (heard: readonly Progress[]) =>
    heard.flatMap(({ progress, total, message }) => (total ? { progress, total, message } : []));

  const all = [5, 10, 15, 20].map((progress) => ({
    progress,
    total: 20,
    message: `${progress} done`,
  }));

  it.each(eras)('reaches a client (%s) as the agent (%s) counts it', async (mode, era) => {
    const { url } = await open({ counter: [era, counting(false)] });
    const client = await connect(url, mode);
    expect(counted(await follow(client, 'counter.count'))).toEqual(all);
    const call = { agent_id: 'counter', capability: 'count', stream: true };
    const heard = await follow(client, 'fabric.call', call);
    expect(counted(heard)).toEqual(all);
    const ours = heard.filter(({ total }) => total === undefined);
    expect(ours.map(({ message }) => message)).toContain('accepted');
  });

  it.each(eras)('goes on after a question of the agent: client %s, agent %s', async (mode, era) => {
    const { url } = await open({ counter: [era, counting(true)] });
    const client = await connect(url, mode, { elicitation: { form: {} } });
    client.setRequestHandler('elicitation/create', () => ({
      action: 'accept' as const,
      content: { yes: true },
    }));
    expect(counted(await follow(client, 'counter.count'))).toEqual(all);
  });
});

const ERAS = ['modern', 'older'] as const;
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const UI_EXTENSION = 'io.modelcontextprotocol/ui';
const UI = { [UI_EXTENSION]: { mimeTypes: [RESOURCE_MIME_TYPE] } };
const empty = { type: 'object' as const };

describe('what an MCP agent says of itself', () => {
  const tool = {
    name: 'paint',
    title: 'Paint',
    inputSchema: empty,
    icons: [{ src: 'data:image/png;base64,aGk=', mimeType: 'image/png', sizes: ['16x16'] }],
    execution: { taskSupport: 'optional' as const },
    _meta: { 'org.example/colour': { blue: [1, 2] }, plain: true },
  };
  const painter: McpServerFactory = () => {
    const server = new Server(
      { name: 'painter', version: '4.5.6' },
      { capabilities: { tools: {}, resources: {} }, instructions: 'Stir the paint.\nThen paint.' },
    );
    server.setRequestHandler('resources/read', ({ params: { uri } }, { mcpReq }) => ({
      contents: [{ uri, text: JSON.stringify(mcpReq._meta) }],
    }));
    server.setRequestHandler('tools/list', () => ({ tools: [tool] }));
    server.setRequestHandler('tools/call', (_, { mcpReq }) => ({
      content: [],
      structuredContent: { meta: mcpReq._meta },
    }));
    return server;
  };

  it.each(ERAS)('of its tools is listed whole: %s', async (era) => {
    const { url } = await open({ painter: [era, painter] });
    const { tools } = await (await connect(url, 'legacy')).listTools();
    const { execution, ...known } = tool;
    expect(tools.find(({ name }) => name === 'painter.paint')).toMatchObject({
      ...known,
      name: 'painter.paint',
      // The current revision has no such word.
      ...(era === 'older' && { execution }),
    });
  });

  it('is in fabric.agent.describe: its version and how it is used', async () => {
    const own = { version: '1.0.0' };
    const { client } = await open({ painter: ['older', painter], own: ['modern', painter, own] });
    const describe = async (agent_id: string) => {
      const call = { name: 'fabric.agent.describe', arguments: { agent_id } };
      const { structuredContent } = await client.callTool(call);
      return (structuredContent as { agent: object }).agent;
    };
    const instructions = 'Stir the paint.\nThen paint.';
    expect(await describe('painter')).toMatchObject({ version: '4.5.6', instructions });
    expect(await describe('own')).toMatchObject({ version: '1.0.0', instructions });
  });

  const sent = {
    'org.example/tenant': { id: 7 },
    plain: 'yes',
    'io.starloom/delegate': {},
    'x-agent-mandate': 'secret',
    Authorization: 'secret',
    'io.modelcontextprotocol/related-task': { taskId: 'x' },
    'com.mcp.tools/x': 1,
    traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
    tracestate: 'a=b',
    baggage: 'user=1',
  };

  it.each([
    ['org', undefined, true],
    ['local', undefined, true],
    ['partner', undefined, false],
    ['public', undefined, false],
    ['public', true, true],
    ['local', false, false],
  ] as const)(
    'hears the _meta of a client: tier %s, pass_meta %s: %s',
    async (trust_tier, pass_meta, passes) => {
      const manifest = { trust_tier, ...(pass_meta !== undefined && { pass_meta }) };
      const { client } = await open({ painter: ['older', painter, manifest] });
      const { structuredContent } = await client.callTool({
        name: 'painter.paint',
        arguments: {},
        _meta: sent,
      });
      const uri = 'starloom:painter:test://meta';
      const { contents } = await client.readResource({ uri, _meta: sent });
      const [read] = contents;
      const heard = read && 'text' in read ? JSON.parse(read.text) : {};
      const ofTheHop = /^(?:x-openstarry-.+|io\.starloom\/chain|traceparent|progressToken)$/;
      const { meta: called } = structuredContent as { meta: Record<string, unknown> };
      for (const meta of [called, heard]) {
        const foreign = Object.keys(meta).filter((key) => !ofTheHop.test(key));
        expect(foreign).toEqual(passes ? ['org.example/tenant', 'plain'] : []);
        expect(meta.traceparent).not.toBe(sent.traceparent);
        if (passes) expect(meta).toMatchObject({ 'org.example/tenant': { id: 7 }, plain: 'yes' });
      }
    },
  );
});

describe('MCP Apps', () => {
  const URI = 'ui://shop/cart.html';
  /** As the official package makes one; its page names itself. */
  const shop =
    (text: string, seen: unknown[] = []): McpServerFactory =>
    () => {
      const server = new McpServer({ name: 'shop', version: '1' });
      const result = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
      registerAppTool(
        server,
        'show-cart',
        { description: 'Shows it', _meta: { ui: { resourceUri: URI } } },
        async ({ mcpReq }) => {
          const { [CAPABILITIES]: said }: Record<string, unknown> = mcpReq.envelope ?? {};
          const declared = said ?? server.server.getClientCapabilities();
          seen.push(getUiCapability(declared as never));
          return result(text);
        },
      );
      registerAppTool(
        server,
        `update-${text}`,
        { description: 'Updates it', _meta: { ui: { resourceUri: URI, visibility: ['app'] } } },
        async () => result(`${text} updated`),
      );
      registerAppResource(server, 'Cart', URI, {}, async () => ({
        contents: [{ uri: URI, mimeType: RESOURCE_MIME_TYPE, text: `${text} at ${URI}` }],
      }));
      server.registerPrompt('help', { description: 'Helps' }, () => ({
        messages: [
          {
            role: 'user' as const,
            content: { type: 'resource_link' as const, uri: `note://${text}`, name: 'note' },
          },
        ],
      }));
      server.registerResource('note', `note://${text}`, {}, () => ({
        contents: [{ uri: `note://${text}`, text: `see ${URI}` }],
      }));
      return server;
    };

  const toolsOf = async (client: Client) => {
    const { tools } = await client.listTools();
    return new Map(tools.map((tool) => [tool.name, tool]));
  };

  it.each(ERAS)('of two agents with one URI are read each: %s', async (era) => {
    const { client } = await open({ one: [era, shop('one')], two: [era, shop('two')] });
    const tools = await toolsOf(client);
    for (const agent of ['one', 'two']) {
      const tool = tools.get(`${agent}.show-cart`);
      const uri = getToolUiResourceUri(tool ?? {}) ?? '';
      expect(uri).toBe(`ui://starloom/${agent}/shop/cart.html`);
      expect(tool?._meta).toMatchObject({ 'ui/resourceUri': uri });
      const { contents } = await client.readResource({ uri });
      expect(contents).toEqual([
        { uri, mimeType: RESOURCE_MIME_TYPE, text: `${agent} at ui://shop/cart.html` },
      ]);
      const { resources } = await client.listResources();
      expect(resources.map((resource) => resource.uri)).toContain(uri);
      const hidden = tools.get(`${agent}.update-${agent}`);
      expect(isToolVisibilityAppOnly(hidden ?? {})).toBe(true);
    }
  });

  it('are found by the names that a page of the agent uses, where one agent has them', async () => {
    const { client } = await open({ one: ['modern', shop('one')], two: ['older', shop('two')] });
    await toolsOf(client);
    const updated = await client.callTool({ name: 'update-two', arguments: {} });
    expect(updated.content).toEqual([{ type: 'text', text: 'two updated' }]);
    await expect(client.callTool({ name: 'show-cart', arguments: {} })).rejects.toThrow();
    const note = await client.readResource({ uri: 'note://two' });
    expect(note.contents).toEqual([{ uri: 'note://two', text: 'see ui://shop/cart.html' }]);
    const error = await client.readResource({ uri: URI }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: -32_602,
      data: {
        error: {
          details: {
            reason: 'ambiguous_uri',
            uris: ['ui://starloom/one/shop/cart.html', 'ui://starloom/two/shop/cart.html'],
          },
        },
      },
    });
    await expect(client.readResource({ uri: 'note://three' })).rejects.toThrow();
  });

  it('are read by the URI of the agent where one agent has it', async () => {
    const { client } = await open({ one: ['modern', shop('one')] });
    await toolsOf(client);
    const { contents } = await client.readResource({ uri: URI });
    expect(contents).toMatchObject([{ uri: URI, text: 'one at ui://shop/cart.html' }]);
  });

  it('a link in a prompt can be read', async () => {
    const { client } = await open({ one: ['modern', shop('one')], two: ['older', shop('one')] });
    for (const agent of ['one', 'two']) {
      const { messages } = await client.getPrompt({ name: `${agent}.help` });
      const uri = `starloom:${agent}:note://one`;
      expect(messages).toMatchObject([{ content: { type: 'resource_link', uri } }]);
      expect((await client.readResource({ uri })).contents).toMatchObject([{ uri }]);
    }
  });

  it('are declared to an agent where the client declared them', async () => {
    const seen: unknown[] = [];
    const { url } = await open({ one: ['modern', shop('one', seen)] });
    for (const mode of ['auto', 'legacy'] as const) {
      await (await connect(url, mode)).callTool({ name: 'one.show-cart', arguments: {} });
      const able = await connect(url, mode, { extensions: UI });
      await able.callTool({ name: 'one.show-cart', arguments: {} });
    }
    const declared = { mimeTypes: [RESOURCE_MIME_TYPE] };
    expect(seen).toEqual([undefined, declared, undefined, declared]);
  });

  it('are declared to an older agent when it is connected', async () => {
    const seen: unknown[] = [];
    const { client } = await open({ one: ['older', shop('one', seen)] });
    await client.callTool({ name: 'one.show-cart', arguments: {} });
    expect(seen).toEqual([{ mimeTypes: [RESOURCE_MIME_TYPE] }]);
  });
});

describe('skills of MCP agents', () => {
  const ROOT = 'skill://acme/refunds';
  const file = (path: string) => ({ uri: `${ROOT}/${path}`, digest: 'sha256:00', size: 3 });
  const frontmatter = { name: 'refunds', description: 'Pays back ⚠️' };
  const resources = [file('SKILL.md'), file('mail.md')];
  const skill = { uri: `${ROOT}/SKILL.md`, frontmatter, resources };
  const wise: McpServerFactory = () => {
    const server = new Server(
      { name: 'wise', version: '1' },
      { capabilities: { resources: {}, extensions: { 'io.modelcontextprotocol/skills': {} } } },
    );
    const params = z.looseObject({ uri: z.string().optional() });
    const cached = { ttlMs: 300_000, cacheScope: 'public' };
    server.setRequestHandler('skills/list', { params }, () => ({ skills: [skill], ...cached }));
    server.setRequestHandler('skills/get', { params }, ({ uri }) => {
      expect(uri).toBe(skill.uri);
      return { skill, ...cached };
    });
    server.setRequestHandler('resources/directory/read', { params }, ({ uri }) => ({
      resources: [{ uri: `${uri}/mail.md`, name: 'mail.md' }],
    }));
    server.setRequestHandler('resources/list', () => ({ resources: [] }));
    server.setRequestHandler('resources/read', ({ params: { uri } }) => ({
      contents: [{ uri, text: `see ${ROOT}/mail.md` }],
    }));
    return server;
  };
  const any = z.looseObject({});

  it.each(ERAS)('are listed, described and read: %s', async (era) => {
    const { client } = await open({ wise: [era, wise], other: [era, wise] });
    expect(client.getServerCapabilities()?.extensions).toMatchObject({
      'io.modelcontextprotocol/skills': { directoryRead: true },
    });
    const ask = (method: string, params = {}) => client.request({ method, params } as never, any);
    const at = (agent: string, path: string) => `skill://starloom/${agent}/acme/refunds${path}`;
    const shown = (agent: string) => ({
      uri: at(agent, '/SKILL.md'),
      frontmatter,
      resources: resources.map(({ uri, ...rest }) => ({
        ...rest,
        uri: at(agent, uri.slice(ROOT.length)),
      })),
    });
    expect(await ask('skills/list')).toMatchObject({
      skills: expect.arrayContaining([shown('wise'), shown('other')]),
      cacheScope: 'private',
    });
    const uri = at('other', '/SKILL.md');
    expect(await ask('skills/get', { uri })).toMatchObject({ skill: shown('other') });
    expect(await ask('resources/directory/read', { uri: at('other', '') })).toMatchObject({
      resources: [{ uri: at('other', '/mail.md') }],
    });
    const { contents } = await client.readResource({ uri });
    expect(contents).toMatchObject([{ uri, text: `see ${ROOT}/mail.md` }]);
  });

  it('are read by the URI of the agent where one agent has it', async () => {
    const { client } = await open({ wise: ['modern', wise] });
    const uri = `${ROOT}/mail.md`;
    expect((await client.readResource({ uri })).contents).toMatchObject([{ uri }]);
  });
});

describe('a tool that answers with a task alone', () => {
  const task = { taskId: 'one', status: 'working', ttl: null, createdAt: '', lastUpdatedAt: '' };
  const researcher =
    (ended: Promise<void>, cancelled: (id: unknown) => void): McpServerFactory =>
    () => {
      const tasks = { cancel: {}, requests: { tools: { call: {} } } };
      const capabilities = { tools: {}, tasks };
      const server = new Server({ name: 'researcher', version: '1' }, { capabilities });
      const execution = { taskSupport: 'required' as const };
      server.setRequestHandler('tools/list', () => ({
        tools: [{ name: 'research', inputSchema: empty, execution }],
      }));
      server.setRequestHandler('tools/call', ({ params }) => {
        if (!params.task) throw new Error('Tool requires task augmentation');
        // The SDK of this fixture lets no result pass without it.
        return { task, content: [] } as never;
      });
      const params = z.looseObject({ taskId: z.string() });
      server.setRequestHandler('tasks/result', { params }, async ({ taskId }, { mcpReq }) => {
        const answer = await server.elicitInput(ASK, { relatedRequestId: mcpReq.id });
        await ended;
        return { content: [{ type: 'text', text: `${taskId}: ${answer.action}` }] };
      });
      server.setRequestHandler('tasks/cancel', { params }, ({ taskId }) => {
        cancelled(taskId);
        return { ...task, status: 'cancelled' };
      });
      return server;
    };

  const openClient = async (url: string) => {
    const client = await connect(url, 'legacy', { elicitation: { form: {} } });
    const action = 'decline' as const;
    client.setRequestHandler('elicitation/create', () => ({ action }));
    return client;
  };

  it('is called as any other, and requires no task of a client', async () => {
    const factory = researcher(Promise.resolve(), () => {});
    const { url } = await open({ researcher: ['older', factory] });
    const client = await openClient(url);
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'researcher.research')).toMatchObject({
      execution: { taskSupport: 'optional' },
    });
    const { content } = await client.callTool({ name: 'researcher.research', arguments: {} });
    expect(content).toEqual([{ type: 'text', text: 'one: decline' }]);
  });

  it('is cancelled with the call', async () => {
    const cancelled = Promise.withResolvers<unknown>();
    const factory = researcher(new Promise(() => {}), cancelled.resolve);
    const { url } = await open({ researcher: ['older', factory] });
    const client = await openClient(url);
    const control = new AbortController();
    client.setRequestHandler('elicitation/create', () => {
      setImmediate(() => control.abort());
      return { action: 'decline' as const };
    });
    const { signal } = control;
    const call = client.callTool({ name: 'researcher.research', arguments: {} }, { signal });
    await expect(call).rejects.toThrow();
    expect(await cancelled.promise).toBe('one');
  });
});
