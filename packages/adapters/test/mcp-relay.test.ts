import { type McpServerFactory, Server } from '@modelcontextprotocol/server';
import { FabricError } from '@starloom/core';
import { ContractAgent } from '@starloom/core/testing';
import { rpcErrorOf } from '@starloom/mcp-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { McpRelay } from '../src/mcp/relay.ts';
import { answer, openEvents, serveFake, toEvent, toResult } from './fixtures/fake-mcp.ts';
import { contractServer } from './fixtures/mcp-contract-server.ts';
import { serveModern, serveSessions } from './fixtures/mcp-http-server.ts';
import { serveChild } from './fixtures/mcp-stdio-server.ts';
import { openMcp, openMcpHttp } from './fixtures/open-mcp.ts';

const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
const { signal } = new AbortController();

describe('the relay of an mcp agent', () => {
  it('returns a result as it came, whatever it is', async () => {
    const result = {
      resultType: 'input_required',
      inputRequests: { who: { method: 'elicitation/create', params: { message: 'Who?' } } },
      requestState: 'opaque',
      _meta: { 'vendor/key': [1, 2] },
      unheard: { of: true },
    };
    const fake = await serveFake({
      'tools/call': ({ id }, response) => answer(response, { id, result }),
    });
    onTestFinished(() => fake.close());
    const adapter = await openMcpHttp(fake.uri);
    expect(await adapter.request('tools/call', { name: 'work' }, { signal })).toEqual(result);
  });

  it('passes params on with what the client declared, and the version of this agent', async () => {
    const fake = await serveFake({});
    onTestFinished(() => fake.close());
    const adapter = await openMcpHttp(fake.uri);
    const params = {
      name: 'work',
      arguments: { task: 'hello' },
      inputResponses: { who: { action: 'accept' } },
      requestState: 'opaque',
      _meta: {
        [CAPABILITIES_KEY]: { elicitation: {} },
        'io.modelcontextprotocol/protocolVersion': '2099-01-01',
        'io.modelcontextprotocol/logLevel': 'debug',
        traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
      },
    };
    await adapter.request('tools/call', params, { signal });
    const { _meta, ...rest } = params;
    const sent = fake.received.at(-1);
    expect(sent?.params).toMatchObject({
      ...rest,
      _meta: { ..._meta, 'io.modelcontextprotocol/protocolVersion': '2026-07-28' },
    });
    expect(sent?.params._meta).not.toHaveProperty('progressToken');
    expect(sent?.http.headers.traceparent).toBe(_meta.traceparent);

    const clientCapabilities = { sampling: {} };
    await adapter.request('tools/call', params, { signal, clientCapabilities });
    expect(fake.received.at(-1)?.params._meta[CAPABILITIES_KEY]).toEqual(clientCapabilities);
    await adapter.request('tools/call', { name: 'work' }, { signal });
    expect(fake.received.at(-1)?.params._meta[CAPABILITIES_KEY]).toEqual({});
  });

  it('passes progress under the token of its client, and log messages, before the result', async () => {
    const fake = await serveFake({
      'tools/call': ({ id, params }, response) => {
        openEvents(response);
        const { progressToken } = params._meta;
        const progress = { progressToken, progress: 1, _meta: { extra: true } };
        const log = { level: 'info', data: 'hi' };
        response.write(toEvent({ method: 'notifications/message', params: log }));
        response.write(toEvent({ method: 'notifications/progress', params: progress }));
        const crossed = { progressToken: 'somebody else', progress: 2 };
        response.write(toEvent({ method: 'notifications/progress', params: crossed }));
        response.end(toEvent({ id, result: toResult('done') }));
      },
    });
    onTestFinished(() => fake.close());
    const adapter = await openMcpHttp(fake.uri);
    const heard: unknown[] = [];
    const params = { name: 'work', _meta: { progressToken: 'mine' } };
    await adapter.request('tools/call', params, {
      signal,
      onNotification: async ({ method, params }) => {
        await Promise.resolve();
        heard.push([method, params]);
      },
    });
    expect(heard).toEqual([
      ['notifications/message', { level: 'info', data: 'hi' }],
      ['notifications/progress', { progressToken: 'mine', progress: 1, _meta: { extra: true } }],
    ]);
  });

  it('rejects with the JSON-RPC error of the agent, code, message and data', async () => {
    const rpc = { code: -32_042, message: 'Please log in', data: { url: 'https://example.org' } };
    const fake = await serveFake({
      'prompts/get': ({ id }, response) => answer(response, { id, error: rpc }),
    });
    onTestFinished(() => fake.close());
    const adapter = await openMcpHttp(fake.uri);
    const error = await adapter
      .request('prompts/get', { name: 'x' }, { signal })
      .catch((e: unknown) => e);
    expect(FabricError.is(error)).toBe(true);
    expect(rpcErrorOf(error)).toEqual(rpc);
    const unknown = await adapter.request('no/such', {}, { signal }).catch((e: unknown) => e);
    expect(rpcErrorOf(unknown)).toMatchObject({ code: -32_601 });
  });

  it('stops when the signal aborts, with its reason, and closes the stream', async () => {
    const closed = Promise.withResolvers<void>();
    const control = new AbortController();
    const fake = await serveFake({
      'tools/call': (_, response) => {
        response.on('close', closed.resolve);
        control.abort(new FabricError('CANCELLED', 'Never mind'));
      },
    });
    onTestFinished(() => fake.close());
    const adapter = await openMcpHttp(fake.uri);
    const request = adapter.request('tools/call', { name: 'work' }, { signal: control.signal });
    await expect(request).rejects.toMatchObject({ code: 'CANCELLED' });
    await closed.promise;
  });

  it('relays resources, prompts and completion of older agents without words they do not know', async () => {
    const seen: unknown[] = [];
    const server = await serveSessions(libraryServer(seen));
    onTestFinished(() => server.close());
    const adapter = await openMcpHttp(server.uri);
    const _meta = { [CAPABILITIES_KEY]: {}, 'vendor/key': 'kept' };
    const read = await adapter.request('resources/read', { uri: 'book:1', _meta }, { signal });
    expect(read).toMatchObject({ contents: [{ uri: 'book:1', text: 'It was a dark night' }] });
    expect(seen).toEqual([{ 'vendor/key': 'kept' }]);
    const prompt = await adapter.request('prompts/get', { name: 'greet' }, { signal });
    expect(prompt).toMatchObject({ messages: [{ content: { text: 'Hello' } }] });
    expect(await adapter.serverCapabilities({ signal })).toMatchObject({
      resources: { listChanged: true },
      prompts: {},
    });
  });
});

describe('a changed list of an mcp agent', () => {
  it('is reported by an agent of the current revision, and read again', async () => {
    let notify = () => {};
    const tools = ['work'];
    const server = await serveModern(changingServer(tools), {
      onHandler: (handler) => {
        notify = () => handler.notify.toolsChanged();
      },
    });
    onTestFinished(() => server.close());
    const adapter = await openMcpHttp(server.uri);
    const changes = countChanges(adapter);
    await adapter.serverCapabilities({ signal });
    const listens = () =>
      server.requests.some(({ headers }) => headers['mcp-method'] === 'subscriptions/listen');
    await expect.poll(listens).toBe(true);
    await expect.poll(() => changes.after(notify)).toBeGreaterThan(0);
  });

  it('is reported by an older agent on the stream of its session', async () => {
    const tools = ['work'];
    const servers: Server[] = [];
    const factory = changingServer(tools, servers);
    const server = await serveSessions(factory);
    onTestFinished(() => server.close());
    const adapter = await openMcpHttp(server.uri);
    const changes = countChanges(adapter);
    await adapter.serverCapabilities({ signal });
    const tell = () => servers.at(-1)?.sendToolListChanged();
    await expect.poll(() => changes.after(tell)).toBeGreaterThan(0);
  });

  it.each(['modern', 'legacy'] as const)('is reported by a %s child process', async (era) => {
    const servers: Server[] = [];
    const child = await serveChild(changingServer(['work'], servers), era);
    onTestFinished(() => child.close());
    const adapter = await openMcp(child.endpoint);
    const changes = countChanges(adapter);
    await adapter.serverCapabilities({ signal });
    const tell = () =>
      servers
        .at(-1)
        ?.sendToolListChanged()
        .catch(() => {});
    await expect.poll(() => changes.after(tell)).toBeGreaterThan(0);
  });

  it('is assumed when the agent was restarted', async () => {
    const child = await serveChild(contractServer(new ContractAgent()), 'legacy');
    onTestFinished(() => child.close());
    const adapter = await openMcp(child.endpoint);
    const changed: string[] = [];
    adapter.onListChanged('tools', () => changed.push('tools'));
    adapter.onListChanged('prompts', () => changed.push('prompts'));
    await adapter.serverCapabilities({ signal });
    expect(changed).toEqual([]);
    await child.kill();
    const connected = () => adapter.serverCapabilities({ signal }).then(() => changed);
    await expect.poll(connected).toEqual(['tools', 'prompts']);
  });
});

/** What was heard until now, with something done meanwhile. */
function countChanges(relay: McpRelay) {
  let count = 0;
  relay.onListChanged('tools', () => {
    count += 1;
  });
  const after = (act: () => unknown) => {
    act();
    return count;
  };
  return { after };
}

function changingServer(tools: readonly string[], servers: Server[] = []): McpServerFactory {
  return () => {
    const server = new Server(
      { name: 'changing', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.setRequestHandler('tools/list', () => ({
      tools: tools.map((name) => ({ name, inputSchema: { type: 'object' as const } })),
    }));
    servers.push(server);
    return server;
  };
}

function libraryServer(seen: unknown[]): McpServerFactory {
  return () => {
    const server = new Server(
      { name: 'library', version: '1' },
      { capabilities: { resources: { listChanged: true }, prompts: {} } },
    );
    server.setRequestHandler('resources/read', ({ params }) => {
      seen.push(params._meta);
      return { contents: [{ uri: params.uri, text: 'It was a dark night' }] };
    });
    server.setRequestHandler('prompts/get', () => ({
      messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hello' } }],
    }));
    return server;
  };
}
