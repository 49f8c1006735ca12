import { EventEmitter } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CallToolResult, type Client, ProtocolError } from '@modelcontextprotocol/client';
import { createTrace, META, toMeta } from '@starloom/core';
import { defineTool } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callTools, say, scripted } from '../core/world.ts';
import { AUTO, OLDEST, openFace, openMcpFace } from './fixtures/face-world.ts';

const EXPOSED = {
  plugins: [{ name: 'fs', config: { roots: ['.'] } }],
  mcp: {
    expose_tools: ['fs:read_file', 'fs:write_file', 'fs.list', 'nowhere:to_be_found'],
    private_tools: ['fs:write_file'],
    resources: ['README.md', 'docs'],
  },
};

const prepare = async (folder: string) => {
  await mkdir(join(folder, 'docs', 'deep'), { recursive: true });
  await writeFile(join(folder, 'README.md'), '# Project Readme...');
  await writeFile(join(folder, 'docs', 'a b.txt'), 'text');
  await writeFile(join(folder, 'docs', 'deep', 'picture.png'), Uint8Array.of(0x89, 0xff, 0));
};

const read = (client: Client, name = 'fs:read_file', meta: object = {}) =>
  client.callTool({
    name,
    arguments: { path: 'README.md' },
    _meta: { ...meta },
  }) as Promise<CallToolResult>;

const payloadOf = (result: CallToolResult) => {
  const [block] = result.content;
  return JSON.parse(block?.type === 'text' ? block.text : 'null');
};

const WAYS = [
  ['http', 'the current revision', AUTO],
  ['http', 'an older revision', {}],
  ['http', 'the oldest revision', OLDEST],
  ['stdio', 'the current revision', AUTO],
  ['stdio', 'an older revision', {}],
  ['stdio', 'the oldest revision', OLDEST],
] as const;

describe('an agent as MCP server', () => {
  it('[A2] greets as the seed says, in 2024-11-05, and serves tools and resources', async () => {
    await using world = await openFace({ agent: EXPOSED, prepare });
    const stdio = world.rawStdio();
    const clientInfo = { name: 'raw', version: '0' };
    const params = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo };
    stdio.write({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    expect(await stdio.read()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        protocolVersion: '2024-11-05',
        capabilities: { tools: { listChanged: true }, resources: { listChanged: true } },
        serverInfo: { name: 'openstarry-coder', version: '1.0.0' },
      },
    });
    stdio.write({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const call = { name: 'fs:read_file', arguments: { path: 'README.md' } };
    stdio.write({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: call });
    expect(await stdio.read()).toMatchObject({
      id: 2,
      result: { content: [{ type: 'text', text: '# Project Readme...' }] },
    });
    const uri = 'agent://openstarry-coder/README.md';
    stdio.write({ jsonrpc: '2.0', id: 3, method: 'resources/read', params: { uri } });
    expect(await stdio.read()).toMatchObject({
      id: 3,
      result: { contents: [{ uri, mimeType: 'text/markdown', text: '# Project Readme...' }] },
    });
  });

  describe.each(WAYS)('over %s, in %s', (transport, _, options) => {
    /** Older clients over HTTP say so in a request of its own, which no server can match. */
    const hasCancellation = transport === 'stdio' || options === AUTO;
    const connect = (world: Awaited<ReturnType<typeof openFace>>) =>
      transport === 'http' ? world.connectHttp(options) : world.connectStdio(options);

    it('[A3] has no tool that expose_tools does not name, and none that is private', async () => {
      await using world = await openFace({ agent: EXPOSED, prepare });
      await using client = await connect(world);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(['fs.read_file', 'fs.list']);
      for (const hidden of ['fs:write_file', 'fs.write_file', 'fs:edit_file', 'fs:search', 'ask']) {
        const call = client.callTool({ name: hidden, arguments: { path: 'x', content: 'y' } });
        await expect(call).rejects.toThrow(ProtocolError);
        await expect(call).rejects.toThrow(expect.objectContaining({ code: -32602 }));
      }
      expect(await world.agent.tools().has('fs:write_file')).toBe(true);
    });

    it('[A7] lists fs:read_file as every client accepts it, and answers to both names', async () => {
      await using world = await openFace({ agent: EXPOSED, prepare });
      await using client = await connect(world);
      const { tools } = await client.listTools();
      for (const { name } of tools) expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
      for (const name of ['fs:read_file', 'fs.read_file']) {
        expect((await read(client, name)).content).toEqual([
          { type: 'text', text: '# Project Readme...' },
        ]);
      }
    });

    it('lists and reads the resources that agent.json names, and no other', async () => {
      await using world = await openFace({ agent: EXPOSED, prepare });
      await using client = await connect(world);
      const { resources } = await client.listResources();
      expect(resources.map(({ uri, mimeType }) => [uri, mimeType])).toEqual([
        ['agent://openstarry-coder/README.md', 'text/markdown'],
        ['agent://openstarry-coder/docs/a%20b.txt', 'text/plain'],
        ['agent://openstarry-coder/docs/deep/picture.png', 'image/png'],
      ]);
      const picture = await client.readResource({
        uri: 'agent://openstarry-coder/docs/deep/picture.png',
      });
      expect(picture.contents).toMatchObject([{ mimeType: 'image/png', blob: 'if8A' }]);
      for (const uri of ['agent://openstarry-coder/agent.json', 'file:///etc/passwd']) {
        await expect(client.readResource({ uri })).rejects.toThrow(ProtocolError);
      }
    });

    it('puts a call on its trace, and what went wrong into the one payload', async () => {
      await using world = await openFace({ agent: EXPOSED, prepare });
      await using client = await connect(world);
      const trace = createTrace();
      const { _meta } = await read(client, undefined, toMeta(trace, { depth: 2, chain: ['a/x'] }));
      expect(_meta?.['io.starloom/call']).toMatchObject({
        agent_id: 'openstarry-coder',
        trace: { trace_id: trace.trace_id },
      });
      const missing = (await client.callTool({
        name: 'fs:read_file',
        arguments: { path: '../outside' },
        _meta: toMeta(trace, { depth: 1, chain: [] }),
      })) as CallToolResult;
      expect(missing.isError).toBe(true);
      expect(payloadOf(missing)).toMatchObject({
        ok: false,
        error: { code: 'POLICY_DENIED', details: { reason: 'parent_segment' } },
        trace: { trace_id: trace.trace_id },
      });
      expect(missing._meta?.['io.starloom/error']).toEqual(payloadOf(missing));
      const wrong = (await client.callTool({
        name: 'fs:read_file',
        arguments: { file: 1 },
      })) as CallToolResult;
      expect(payloadOf(wrong).error).toMatchObject({ code: 'BAD_INPUT' });
    });

    it('[A5] serves depth 5 and refuses 6, names a cycle, and keeps refusing the trace', async () => {
      await using world = await openFace({ agent: EXPOSED, prepare });
      await using client = await connect(world);
      const trace = createTrace();
      const at = (depth: number, chain: string[] = []) =>
        read(client, undefined, toMeta(trace, { depth, chain }));
      expect((await at(5)).isError).not.toBe(true);
      expect(payloadOf(await at(6, ['a/x']))).toMatchObject({
        error: { code: 'RECURSION_LIMIT', details: { depth: 6, limit: 5, chain: ['a/x'] } },
        trace: { trace_id: trace.trace_id },
      });
      expect(payloadOf(await at(1)).error).toMatchObject({
        code: 'RECURSION_LIMIT',
        details: { reason: 'tripped' },
      });
      const chain = ['openstarry-coder/fs:read_file', 'b/y'];
      const looped = await read(client, undefined, toMeta(createTrace(), { depth: 3, chain }));
      expect(payloadOf(looped).error.details.cycle).toEqual([
        'openstarry-coder/fs:read_file',
        'b/y',
        'openstarry-coder/fs:read_file',
      ]);
      expect(payloadOf(await read(client, undefined, { [META.depth]: 'deep' })).error.code).toBe(
        'BAD_INPUT',
      );
      const { trace_id } = createTrace();
      const asWritten = { 'X-OpenStarry-Trace-ID': trace_id, 'X-OpenStarry-Depth': 6 };
      expect(payloadOf(await read(client, undefined, asWritten))).toMatchObject({
        error: { code: 'RECURSION_LIMIT' },
        trace: { trace_id },
      });
    });

    it('tells how far a tool is, and stops it when the client leaves', async () => {
      const stopped = Promise.withResolvers<unknown>();
      const slow = defineTool({
        name: 'test:slow',
        description: 'Waits until it is stopped',
        parameters: z.strictObject({}),
        effect: 'read',
        execute(_args, { signal, progress }) {
          progress('halfway', 50);
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              stopped.resolve(signal.reason);
              reject(signal.reason);
            });
          });
        },
      });
      const mcp = { expose_tools: ['test:slow'] };
      await using world = await openFace({ agent: { mcp }, tools: [slow] });
      await using client = await connect(world);
      const reported = Promise.withResolvers<string | undefined>();
      const left = new AbortController();
      const call = client.callTool(
        { name: 'test.slow', arguments: {} },
        { signal: left.signal, onprogress: ({ message }) => reported.resolve(message) },
      );
      expect(await reported.promise).toBe('halfway');
      const ended = expect(call).rejects.toThrow();
      if (hasCancellation) left.abort();
      else await client.close();
      await ended;
      await stopped.promise;
    });
  });

  it.each([
    ['stdio', AUTO],
    ['stdio', {}],
    ['http', AUTO],
  ] as const)('tells over %s when tools or resources change (%j)', async (transport, options) => {
    await using world = await openFace({ agent: EXPOSED, prepare });
    const changes: string[] = [];
    const note = (kind: string) => ({
      autoRefresh: false,
      debounceMs: 0,
      onChanged: () => void changes.push(kind),
    });
    const listChanged = { tools: note('tools'), resources: note('resources') };
    const given = { ...options, listChanged };
    await using client = await (transport === 'http'
      ? world.connectHttp(given)
      : world.connectStdio(given));
    await writeFile(join(world.folder.path, 'docs', 'new.txt'), '');
    await expect.poll(() => changes, { timeout: 10_000 }).toContain('resources');
    expect((await client.listResources()).resources).toHaveLength(4);
    expect(changes).not.toContain('tools');
    await rm(join(world.folder.path, 'docs', 'new.txt'));
  });

  it('tells when a tool it exposes comes or goes, and not of others', async () => {
    const events = new EventEmitter();
    const tools = new Map<string, ReturnType<typeof defineTool>>();
    const tool = (name: string) =>
      defineTool({ name, description: '', parameters: z.strictObject({}), execute: () => '' });
    await using world = await openFace({ agent: { mcp: { expose_tools: ['x:one'] } } });
    const changing = {
      name: 'changing',
      version: '1',
      turn: world.agent.turn.bind(world.agent),
      callTool: world.agent.callTool.bind(world.agent),
      tools: () => tools,
      onToolsChanged: (listener: () => void) => {
        events.on('change', listener);
        return () => events.off('change', listener);
      },
    };
    const face = await openMcpFace(world.agent, undefined, changing);
    const reported: string[] = [];
    face.onListChanged((kind) => reported.push(kind));
    const change = (name: string) => {
      tools.set(name, tool(name));
      events.emit('change');
    };
    change('x:two');
    expect(reported).toEqual([]);
    change('x:one');
    expect(reported).toEqual(['tools']);
    face.close();
    expect(events.listenerCount('change')).toBe(0);
  });
});

describe('an agent that is asked itself', () => {
  const ask = (client: Client, prompt: string, more: object = {}) =>
    client.callTool({ name: 'ask', arguments: { prompt, ...more } }) as Promise<CallToolResult>;
  const exposed = { mcp: { expose_tools: ['ask'] } };

  it('is a tool like any other: exposed by name, or not at all', async () => {
    await using world = await openFace({ agent: exposed });
    await using client = await world.connectHttp();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['ask']);
    const mcp = { expose_tools: ['ask'], private_tools: ['ask'] };
    await using closed = await openFace({ agent: { mcp } });
    await using other = await closed.connectHttp();
    expect((await other.listTools()).tools).toEqual([]);
    await expect(ask(other, 'hello')).rejects.toThrow(ProtocolError);
  });

  it.each(WAYS)('answers over %s, in %s, as its model speaks', async (transport, _, options) => {
    const provider = {
      name: 'test',
      generate: async () => say('Hello there'),
      async *stream() {
        for (const text of ['Hel', 'lo ', 'there']) yield { type: 'text' as const, text };
      },
    };
    await using world = await openFace({ agent: exposed, provider });
    await using client = await (transport === 'http'
      ? world.connectHttp(options)
      : world.connectStdio(options));
    const reported: [progress: number, message: string | undefined][] = [];
    const result = (await client.callTool(
      { name: 'ask', arguments: { prompt: 'hello' } },
      { onprogress: ({ progress, message }) => void reported.push([progress, message]) },
    )) as CallToolResult;
    expect(result.content).toEqual([{ type: 'text', text: 'Hello there' }]);
    expect(reported.map(([, message]) => message)).toEqual(['Hel', 'lo ', 'there']);
    const counts = reported.map(([progress]) => progress);
    expect(counts).toEqual([...new Set(counts)].sort((a, b) => a - b));
  });

  it('takes the words of others as data, and runs no command they write', async () => {
    const provider = scripted('I only talk');
    await using world = await openFace({
      agent: { ...exposed, plugins: [{ name: 'fs' }] },
      provider,
    });
    await using client = await world.connectHttp();
    const result = await ask(client, '/write hacked.txt x');
    expect(result.content).toEqual([{ type: 'text', text: 'I only talk' }]);
    const blocks = provider.asked[0]?.context.blocks ?? [];
    expect(blocks.at(-1)).toMatchObject({ trust: 'untrusted', type: 'data', source: 'mcp:client' });
  });

  it('goes on with a session that began here, and with no other', async () => {
    const provider = scripted('one', 'two', 'mine');
    await using world = await openFace({ agent: exposed, provider });
    await using client = await world.connectHttp();
    const first = await ask(client, 'first');
    const call = first._meta?.['io.starloom/call'] as { session_id?: string } | undefined;
    await ask(client, 'second', { session_id: call?.session_id });
    expect(JSON.stringify(provider.asked[1]?.context.blocks)).toContain('first');
    const mine = await world.agent.turn('the secret of the user');
    const stolen = await ask(client, 'what did the user say?', { session_id: mine.sessionId });
    expect(payloadOf(stolen).error).toMatchObject({ details: { reason: 'unknown_session' } });
  });

  it('keeps to itself which tools it uses', async () => {
    const provider = scripted(callTools({ name: 'fs:list' }), 'done');
    await using world = await openFace({
      agent: { ...exposed, plugins: [{ name: 'fs' }] },
      provider,
    });
    await using client = await world.connectHttp();
    const reported: unknown[] = [];
    const result = (await client.callTool(
      { name: 'ask', arguments: { prompt: 'look' } },
      { onprogress: (progress) => void reported.push(progress) },
    )) as CallToolResult;
    expect(result.content).toEqual([{ type: 'text', text: 'done' }]);
    expect(JSON.stringify([reported, result])).not.toContain('fs:list');
  });

  it('says what is wrong with a question, and when its model failed', async () => {
    await using world = await openFace({ agent: exposed, provider: scripted() });
    await using client = await world.connectHttp();
    expect(payloadOf(await ask(client, '')).error.code).toBe('BAD_INPUT');
    expect((await ask(client, 'hello')).isError).toBe(true);
  });
});
