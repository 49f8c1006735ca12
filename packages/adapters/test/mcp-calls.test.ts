import { FabricError, silentLog } from '@starloom/core';
import { ContractAgent, exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  answer,
  type Behaviour,
  openEvents,
  serveFake,
  serveOldFake,
  taskOf,
  toEvent,
  toResult,
} from './fixtures/fake-mcp.ts';
import { contractServer } from './fixtures/mcp-contract-server.ts';
import { serveModern, serveSessions } from './fixtures/mcp-http-server.ts';
import { openMcp, openMcpHttp } from './fixtures/open-mcp.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

async function serve(behaviours: Record<string, Behaviour>) {
  const fake = await serveFake(behaviours);
  onTestFinished(() => fake.close());
  return fake;
}

function listing(...tools: Record<string, unknown>[]): Behaviour {
  return ({ id }, response) => {
    answer(response, {
      id,
      result: { resultType: 'complete', tools, ttlMs: 0, cacheScope: 'private' },
    });
  };
}

describe('a call of an mcp agent over http', () => {
  it('carries the trace, the headers of the manifest and those of the protocol', async () => {
    const fake = await serve({});
    const headers = { Authorization: 'Bearer k', 'X-Team': 'blue', Accept: 'text/html' };
    const adapter = await openMcp({ transport: 'http', uri: fake.uri, headers });
    const trace = exampleEnvelope('').trace;
    const hop = { depth: 3, chain: ['a/x', 'subject/work'] };
    await runCall(adapter, 'hello', { trace, hop });
    const call = fake.received.find(({ method }) => method === 'tools/call');
    expect(call?.http.headers).toMatchObject({
      authorization: 'Bearer k',
      'x-team': 'blue',
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'work',
      'x-openstarry-trace-id': trace.trace_id,
      'x-openstarry-depth': '3',
      'x-openstarry-chain': 'a/x,subject/work',
      traceparent: expect.stringContaining(trace.trace_id.replaceAll('-', '')),
    });
    expect(call?.params._meta).toMatchObject({
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'starloom' },
      'x-openstarry-trace-id': trace.trace_id,
      'io.starloom/chain': 'a/x,subject/work',
      progressToken: call?.id,
    });
  });

  it('shares one connection and one list of tools with all others', async () => {
    const fake = await serve({});
    const adapter = await openMcpHttp(fake.uri);
    const tasks = Array.from({ length: 50 }, (_, index) => `task-${index}`);
    const calls = await Promise.all(tasks.map((task) => runCall(adapter, task)));
    expect(calls.map(({ result }) => result?.answer)).toEqual(tasks);
    await runCall(adapter, 'later');
    const times = (method: string) => fake.received.filter((seen) => seen.method === method).length;
    expect(times('server/discover')).toBe(1);
    expect(times('tools/list')).toBe(1);
  });

  it('asks for no list when the manifest tells the schema, and names the tool as it does', async () => {
    const fake = await serve({});
    const input_schema = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] };
    const capabilities = [{ name: 'work', tool: 'web/search', input_schema }];
    const adapter = await openMcp({ transport: 'http', uri: fake.uri }, { capabilities });
    await runCall(adapter, 'otters');
    expect(fake.received.map(({ method }) => method)).toEqual(['server/discover', 'tools/call']);
    expect(fake.received.at(-1)?.params).toMatchObject({
      name: 'web/search',
      arguments: { q: 'otters' },
    });
  });

  it('finds a tool that appeared after the list was read', async () => {
    let tools: Record<string, unknown>[] = [{ name: 'other', inputSchema: { type: 'object' } }];
    const fake = await serve({ 'tools/list': (...given) => listing(...tools)(...given) });
    const adapter = await openMcpHttp(fake.uri);
    expect((await failedCall(adapter, 'early')).code).toBe('CAPABILITY_NOT_FOUND');
    tools = [{ name: 'work', inputSchema: { type: 'object' } }];
    const answered = () =>
      runCall(adapter, 'late').then(
        ({ result }) => result?.answer,
        () => '',
      );
    await expect.poll(answered, { timeout: 5_000 }).toBe('late');
  });

  it('mirrors arguments in headers where the agent asks for it, also when it asks late', async () => {
    let header: string | undefined;
    const inputSchema = () => ({
      type: 'object',
      properties: { task: { type: 'string', ...(header ? { 'x-mcp-header': header } : {}) } },
    });
    const fake = await serve({
      'tools/list': (...given) => listing({ name: 'work', inputSchema: inputSchema() })(...given),
      'tools/call': (request, response) => {
        const mirrored = header && request.http.headers[`mcp-param-${header.toLowerCase()}`];
        if (mirrored === header && header === undefined) {
          answer(response, { id: request.id, result: toResult('plain') });
        } else if (mirrored === undefined) {
          response.writeHead(400, { 'content-type': 'application/json' });
          const error = { code: -32_020, message: 'Header mismatch' };
          response.end(JSON.stringify({ jsonrpc: '2.0', id: request.id, error }));
        } else answer(response, { id: request.id, result: toResult(String(mirrored)) });
      },
    });
    const adapter = await openMcpHttp(fake.uri);
    expect((await runCall(adapter, 'one')).result?.answer).toBe('plain');
    header = 'Task';
    expect((await runCall(adapter, 'two')).result?.answer).toBe('two');
    const calls = fake.received.filter(({ method }) => method === 'tools/call');
    expect(calls).toHaveLength(3);
  });

  it('sends nothing when it was cancelled before it began, though there is a connection', async () => {
    const fake = await serve({});
    const adapter = await openMcpHttp(fake.uri);
    await runCall(adapter, 'first');
    const sent = fake.received.length;
    const signal = AbortSignal.abort(new FabricError('CANCELLED', 'Never mind'));
    expect(await failedCall(adapter, 'never', { signal })).toMatchObject({
      code: 'CANCELLED',
      details: { sent: false },
    });
    await runCall(adapter, 'last');
    expect(fake.received).toHaveLength(sent + 1);
  });

  it('waits for no time of its own: what a call may take is up to its signal', async () => {
    const fake = await serve({
      'tools/call': ({ id }, response) => {
        setTimeout(() => answer(response, { id, result: toResult('slow') }), 150);
      },
    });
    const adapter = await openMcpHttp(fake.uri, { connect_timeout_ms: 100 });
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('slow');
  });

  it('needs input when the agent asks and no caller can be asked', async () => {
    const inputRequests = { who: { method: 'elicitation/create', params: {} } };
    const fake = await serve({
      'tools/call': ({ id }, response) =>
        answer(response, { id, result: { resultType: 'input_required', inputRequests } }),
    });
    const adapter = await openMcpHttp(fake.uri);
    const events: unknown[] = [];
    const context = { signal: new AbortController().signal, log: silentLog };
    const error = await (async () => {
      for await (const event of adapter.call(exampleEnvelope('hello'), context)) events.push(event);
    })().catch((thrown: unknown) => thrown);
    expect(events).toEqual([]);
    expect(error).toMatchObject({
      code: 'INPUT_REQUIRED',
      details: { inputs: [{ id: 'who', kind: 'form' }] },
    });
  });

  it('holds the agent back while the caller does not read', async () => {
    let written = 0;
    const filler = 'x'.repeat(60_000);
    const fake = await serve({
      'tools/call': ({ id, params }, response) => {
        openEvents(response);
        const { progressToken } = params._meta;
        const write = () => {
          while (written < 600) {
            written += 1;
            const progress = { progressToken, progress: written, message: filler };
            const event = toEvent({ method: 'notifications/progress', params: progress });
            if (!response.write(event)) return;
          }
          response.off('drain', write);
          response.end(toEvent({ id, result: toResult('done') }));
        };
        response.on('drain', write);
        write();
      },
    });
    const adapter = await openMcpHttp(fake.uri);
    const context = { signal: new AbortController().signal, log: silentLog };
    const events = adapter.call(exampleEnvelope('hello'), context)[Symbol.asyncIterator]();
    await events.next();
    let before = -1;
    await expect
      .poll(
        () => {
          const isStill = before === written;
          before = written;
          return isStill;
        },
        { interval: 100 },
      )
      .toBe(true);
    expect(written).toBeLessThan(500);
    let count = 1;
    for (let next = await events.next(); !next.done; next = await events.next()) count += 1;
    expect(count).toBe(601);
  });

  it('gives each caller its own log messages', async () => {
    const fake = await serve({
      'tools/call': (request, response) => {
        openEvents(response);
        const params = { level: 'info', data: `about ${taskOf(request)}` };
        response.write(toEvent({ method: 'notifications/message', params }));
        response.end(toEvent({ id: request.id, result: toResult('ok') }));
      },
    });
    const adapter = await openMcpHttp(fake.uri);
    const heard = await Promise.all(
      ['a', 'b'].map(async (task) => {
        const said: unknown[] = [];
        const { signal } = new AbortController();
        const notify = async ({
          params,
        }: {
          params?: Readonly<Record<string, unknown>> | undefined;
        }) => {
          said.push(params?.data);
        };
        const context = { signal, log: silentLog, notify };
        for await (const _ of adapter.call(exampleEnvelope(task), context));
        return said;
      }),
    );
    expect(heard).toEqual([['about a'], ['about b']]);
  });

  it('is denied by an agent that wants to know who calls, before it is sent', async () => {
    const guarded = await serve({
      'server/discover': (_, response) => response.writeHead(401).end(),
    });
    const adapter = await openMcpHttp(guarded.uri);
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'AUTH_DENIED',
      details: { upstream: { status: 401 }, sent: false },
    });
    const context = { signal: new AbortController().signal, log: silentLog };
    expect((await adapter.health(context)).status).toBe('degraded');
  });

  it('is refused for a manifest that cannot work', async () => {
    const bad = [
      {
        transport: 'http' as const,
        uri: 'http://127.0.0.1:1/',
        headers: { 'x-evil': 'a\r\nb: c' },
      },
      { transport: 'http' as const, uri: 'http://127.0.0.1:1/', headers: { Host: 'elsewhere' } },
      { transport: 'http' as const, uri: 'http://127.0.0.1:1/', options: { result_byte: 1 } },
      { transport: 'process' as const, command: 'x' },
    ];
    for (const endpoint of bad) {
      const error = await openMcp(endpoint).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'BAD_INPUT' });
    }
  });
});

describe('a session with an older mcp agent over http', () => {
  it('is opened again when the agent has forgotten it, and the calls are sent again', async () => {
    const server = await serveSessions(contractServer(new ContractAgent()));
    onTestFinished(() => server.close());
    const adapter = await openMcpHttp(server.uri);
    expect((await runCall(adapter, 'echo one')).result?.answer).toBe('one');
    server.forget();
    const handshakes = server.requests.filter(({ headers }) => headers['mcp-method']).length;
    const tasks = ['a', 'b', 'c'];
    const answers = await Promise.all(tasks.map((task) => runCall(adapter, `echo ${task}`)));
    expect(answers.map(({ result }) => result?.answer)).toEqual(tasks);
    const probes = server.requests.filter(({ headers }) => headers['mcp-method']);
    expect(probes).toHaveLength(handshakes);
  });

  it('is opened again after the agent restarted', async () => {
    const agent = new ContractAgent();
    const first = await serveSessions(contractServer(agent));
    const adapter = await openMcpHttp(first.uri);
    expect((await runCall(adapter, 'echo one')).result?.answer).toBe('one');
    await first.close();
    const second = await serveSessions(contractServer(agent), first.port);
    onTestFinished(() => second.close());
    const answered = () => runCall(adapter, 'echo two').then(({ result }) => result?.answer);
    await expect.poll(() => answered().catch(() => '')).toBe('two');
  });

  it('is ended at the agent when the adapter is closed', async () => {
    const server = await serveSessions(contractServer(new ContractAgent()));
    onTestFinished(() => server.close());
    const adapter = await openMcpHttp(server.uri);
    await runCall(adapter, 'echo one');
    await adapter.close();
    const last = server.requests.at(-1);
    expect(last?.method).toBe('DELETE');
    expect(last?.headers['mcp-session-id']).toBeDefined();
    expect((await failedCall(adapter, 'echo two')).details).toMatchObject({ sent: false });
  });

  it('becomes one of the current revision when the agent was upgraded, and back', async () => {
    const agent = new ContractAgent();
    const old = await serveSessions(contractServer(agent));
    const adapter = await openMcpHttp(old.uri);
    const echo = async (word: string) => (await runCall(adapter, `echo ${word}`)).result?.answer;
    expect(await echo('old')).toBe('old');
    await old.close();
    const current = await serveModern(contractServer(agent), { port: old.port });
    await expect.poll(() => echo('new').catch(() => '')).toBe('new');
    await current.close();
    const again = await serveSessions(contractServer(agent), old.port);
    onTestFinished(() => again.close());
    await expect.poll(() => echo('old again').catch(() => '')).toBe('old again');
  });

  it('takes up a stream again where it broke off', async () => {
    const resumed: unknown[] = [];
    let resumable: unknown;
    const server = await serveOldFake((request, response, message) => {
      if (request.method === 'GET') {
        if (request.headers['last-event-id'] === undefined)
          return void response.writeHead(405).end();
        resumed.push(request.headers['last-event-id']);
        openEvents(response);
        response.end(
          `id: 2\n${toEvent({ id: resumable, result: { content: [{ type: 'text', text: 'at last' }] } })}`,
        );
        return;
      }
      resumable = message.id;
      openEvents(response);
      response.end('id: 1\nretry: 10\ndata:\n\n');
    });
    onTestFinished(() => server.close());
    const adapter = await openMcpHttp(server.uri);
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('at last');
    expect(resumed).toEqual(['1']);
  });

  it('does not send a call again whose stream broke off and is lost', async () => {
    let calls = 0;
    const server = await serveOldFake((request, response) => {
      if (request.method === 'GET') {
        response.writeHead(request.headers['last-event-id'] === undefined ? 405 : 404).end();
        return;
      }
      calls += 1;
      openEvents(response);
      response.end('id: 1\nretry: 10\ndata:\n\n');
    });
    onTestFinished(() => server.close());
    const error = await failedCall(await openMcpHttp(server.uri), 'hello');
    expect(error).toMatchObject({ code: 'AGENT_OFFLINE', details: { reason: 'connection_lost' } });
    expect(error.details.sent).toBeUndefined();
    expect(calls).toBe(1);
  });
});
