// Incidents of other gateways and libraries, each tried against this one.

import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';
import { createCoordination, describeMethods, openStore } from '@starloom/coordination';
import { silentLog } from '@starloom/core';
import { createPskVerifier, generateKey } from '@starloom/identity';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { connect, KEY, openTestGateway, STRANGER_KEY, type TestAgent } from './test-gateway.ts';

const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
const CREDENTIAL = `authorization: Bearer ${KEY}`;
const TYPE = 'content-type: application/json';

/** An agent that says what it got, and how often it was called. */
function recorder() {
  const seen: unknown[] = [];
  const agent: TestAgent = {
    run: async function* ({ input, auth }) {
      seen.push({ input, auth });
      yield { type: 'final', data: { answer: 'done' } };
    },
  };
  return { agent, seen };
}

/** What comes back to bytes as they are, until the gateway closes. */
async function sendRaw(url: string, head: readonly string[], body = ''): Promise<string> {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  return await text(socket).catch(() => '');
}

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);

describe('a page that reached the port by DNS rebinding (CVE-2025-49596)', () => {
  const PATHS = [
    '/mcp',
    '/mcp/ws',
    '/rpc',
    '/rpc/ws',
    '/rpc/openapi.json',
    '/agent-registry',
    '/a2a',
    '/a2a/percy',
    '/a2a/percy/.well-known/agent-card.json',
    '/.well-known/agent-card.json',
    '/.well-known/jwks.json',
    '/metrics',
    '/livez',
    '/healthz',
    '/readyz',
    '/nowhere',
  ];
  const FOREIGN = [
    ['host: evil.example'],
    ['host: 127.0.0.1.evil.example'],
    ['host: localhost.evil.example:7420'],
    ['host: 127.0.0.1', 'origin: http://evil.example'],
    ['host: 127.0.0.1', 'origin: null'],
    ['host: 127.0.0.1', 'origin: http://localhost.evil.example'],
    ['host: 127.0.0.1', 'origin: file://'],
  ];

  it('is refused on every route and upgrade, with a valid key too', async () => {
    const store = await openStore({ kind: 'embedded' }, { log: silentLog });
    const coordination = createCoordination({ store, log: silentLog });
    const { agent, seen } = recorder();
    await using gateway = await openTestGateway({ percy: agent }, { coordination });
    const upgrade = [
      'connection: upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    for (const path of PATHS) {
      for (const lines of FOREIGN) {
        const methods = path.endsWith('/ws') ? ['GET'] : ['GET', 'POST'];
        for (const method of methods) {
          const more = path.endsWith('/ws') ? upgrade : ['connection: close', TYPE];
          const head = [`${method} ${path} HTTP/1.1`, ...lines, CREDENTIAL, ...more];
          const answer = await sendRaw(gateway.url, head);
          expect(statusOf(answer), `${method} ${path} ${lines}`).toBe(403);
          expect(answer).not.toContain('percy');
        }
      }
    }
    expect(seen).toEqual([]);
    await coordination.close();
    await store.close();
  });
});

describe('keys that another parser would read as ours (CVE-2026-27896)', () => {
  const call = (params: string, more = '') =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call"${more},"params":${params}}`;

  it.each([
    ['in another case', call('{"Name":"percy.work","name":"fabric.health"}')],
    ['with a long s (U+017F)', call('{"name":"percy.work","argument\u017f":{}}')],
    ['with a NUL', call('{"name":"percy.work","arguments\\u0000":{}}')],
    ['twice', call('{"name":"fabric.health","name":"percy.work"}')],
    ['twice, escaped', call('{"name":"fabric.health","n\\u0061me":"percy.work"}')],
    ['a method in another case', call('{"name":"percy.work"}', ',"Method":"tools/list"')],
    ['a method twice', call('{"name":"percy.work"}', ',"method":"tools/list"')],
    [
      'an argument of ours in another case',
      call('{"name":"fabric.call","arguments":{"capability":"work","Agent_id":"percy"}}'),
    ],
    [
      'an argument of ours with a NUL',
      call('{"name":"fabric.call","arguments":{"capability":"work","agent_id\\u0000":"percy"}}'),
    ],
  ])('reach no agent as anything but what was checked: %s', async (_, body) => {
    const { agent, seen } = recorder();
    await using gateway = await openTestGateway({ percy: agent });
    await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${KEY}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body,
    }).then((response) => response.text());
    // A member that nobody knows may be passed over; it is never read as the one that it looks like.
    for (const got of seen) expect(got).toMatchObject({ input: { arguments: {} } });
    expect(JSON.stringify(seen)).not.toMatch(/\u017f|\\u0000|Agent_id|Name/);
  });
});

/** What the words allow at most, read without the code that is tested. */
const fits = (glob: string, name: string) =>
  new RegExp(`^${glob.replaceAll('*', '.*').replaceAll('?', '.')}$`).test(name);

function mayBeGranted(name: string, scopes: readonly string[], tier: string): boolean {
  const isTrusted = tier === 'local' || tier === 'org';
  return scopes.some((scope) => {
    if (scope === '*' || scope === 'toolset:agents') return isTrusted;
    const [kind, glob = ''] = scope.split(':');
    if (kind === 'agent') return fits(glob, 'percy');
    return kind === 'capability' && fits(glob, `percy/${name}`);
  });
}

function mayBeServed(name: string, tools: { include?: string[]; exclude: string[] }): boolean {
  const { include = ['*'], exclude } = tools;
  return include.some((glob) => fits(glob, name)) && !exclude.some((glob) => fits(glob, name));
}

describe('a request that brings a command (CVE-2026-42271)', () => {
  it('no route, tool or method takes a command, or changes the agents', async () => {
    const { agent } = recorder();
    const store = await openStore({ kind: 'embedded' }, { log: silentLog });
    const coordination = createCoordination({ store, log: silentLog });
    const config = { mcp: { toolsets: ['fabric', 'agents', 'coordination'] } };
    await using gateway = await openTestGateway({ percy: agent }, { coordination, config });
    await using client = await connect(gateway.url);
    const { tools } = await client.listTools();
    const named = (schema: unknown) => JSON.stringify(schema).match(/"(?:command|args|env)":/g);
    for (const { name, inputSchema } of tools) expect(named(inputSchema), name).toBeNull();
    for (const { name, params } of describeMethods()) expect(named(params), name).toBeNull();
    const endpoint = { transport: 'process', command: 'touch', args: ['pwned'] };
    for (const name of ['fabric.route.preview', 'fabric.agent.describe', 'fabric.call']) {
      const args = { agent_id: 'percy', capability: 'work', endpoint, ...endpoint };
      const { isError } = await client.callTool({ name, arguments: args });
      expect(isError, name).toBe(true);
    }
    await coordination.close();
    await store.close();
  });
});

describe('negated filters (CVE-2026-108586)', () => {
  it('whatever scopes and filters say, what is listed and what can be called is the same', async () => {
    const { agent } = recorder();
    const names = ['read', 'write', 'read_all', 'admin'];
    const globs = fc.constantFrom('*', 'read*', 'write', 'admin', '!admin', '*_all', 'r?ad', '');
    const scopes = fc.constantFrom(
      '*',
      'toolset:agents',
      'agent:percy',
      'agent:p*',
      'agent:!percy',
      'capability:percy/read',
      'capability:percy/*',
      'capability:*/write',
      'capability:percy/!admin',
      'toolset:coordination',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(scopes, { maxLength: 3 }),
        fc.constantFrom('local', 'org', 'partner', 'public' as const),
        fc.array(globs, { maxLength: 2 }),
        fc.array(globs, { maxLength: 2 }),
        async (granted, tier, include, exclude) => {
          const key = generateKey();
          const psk = createPskVerifier([
            { key_id: 'k', key, principal: 'p', tier: tier as 'org', scopes: granted },
          ]);
          const tools = {
            ...(include.length > 0 && { include: include.filter((glob) => glob !== '') }),
            exclude: exclude.filter((glob) => glob !== ''),
          };
          const manifest = { capabilities: names.map((name) => ({ name })), tools };
          await using gateway = await openTestGateway({ percy: { ...agent, manifest } }, { psk });
          await using client = await connect(gateway.url, 'auto', {
            authorization: `Bearer ${key}`,
          });
          const listed = (await client.listTools()).tools
            .map(({ name }) => name)
            .filter((name) => name.startsWith('percy'));
          for (const name of names) {
            const isGranted = mayBeGranted(name, granted, tier) && mayBeServed(name, tools);
            const outcome = await client.callTool({ name: `percy.${name}`, arguments: {} }).then(
              ({ isError }) => isError !== true,
              () => false,
            );
            const isListed = listed.some((one) => one.replace('_', '.') === `percy.${name}`);
            expect(outcome, `${name} of ${JSON.stringify({ granted, tier, tools })}`).toBe(
              isListed || listed.includes(`percy.${name}`),
            );
            if (!isGranted) expect(outcome).toBe(false);
          }
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe('headers that only insiders should send (GO-2026-5390)', () => {
  it.each([
    'x-starloom-principal',
    'x-starloom-internal',
    'x-agent-principal',
    'x-forwarded-user',
    'x-forwarded-access-token',
    'x-remote-user',
    'x-authenticated-user',
    'x-tenant-id',
    'x-internal-key',
  ])('change nothing: %s', async (name) => {
    const { agent, seen } = recorder();
    await using gateway = await openTestGateway({ percy: agent });
    const send = (headers: Record<string, string>) =>
      fetch(`${gateway.url}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'percy.work', arguments: {} },
        }),
      });
    expect((await send({ [name]: 'tester' })).status).toBe(401);
    expect((await send({ [name]: KEY })).status).toBe(401);
    const served = await send({ [name]: 'tester', authorization: `Bearer ${STRANGER_KEY}` });
    await served.text();
    expect(seen).toMatchObject([{ auth: { principal_id: 'stranger' } }]);
  });
});

describe('a body under another content type (CVE-2026-25223)', () => {
  it.each([
    'text/plain',
    'text/plain;application/json',
    'application/json\t;x',
    'application/jsonx',
    'application/json-patch+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json',
    'application/json, text/plain',
    'APPLICATION/JSON\u00a0',
    '',
  ])('is refused with 415, or read as JSON with every check: %j', async (type) => {
    const { agent, seen } = recorder();
    await using gateway = await openTestGateway({ percy: agent });
    const bad = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"__proto__":{"a":1}}}';
    const head = ['POST /mcp HTTP/1.1', 'host: 127.0.0.1', CREDENTIAL, 'connection: close'];
    const lines = [...head, `content-type: ${type}`, `content-length: ${bad.length}`];
    const answer = await sendRaw(gateway.url, lines, bad);
    expect([400, 415]).toContain(statusOf(answer));
    expect(seen).toEqual([]);
  });
});

describe('requests that a proxy before us may read in another way (CVE-2026-1525)', () => {
  it.each<[string, readonly string[], string]>([
    ['an encoded prefix', ['POST /%6dcp HTTP/1.1', `content-length: ${LIST.length}`], LIST],
    ['an encoded slash', ['POST /a2a%2fpercy HTTP/1.1', `content-length: ${LIST.length}`], LIST],
    ['a backslash', ['POST /a2a\\percy HTTP/1.1', `content-length: ${LIST.length}`], LIST],
    ['dot segments', ['POST /livez/../mcp HTTP/1.1', `content-length: ${LIST.length}`], LIST],
    ['encoded dots', ['POST /livez/%2e%2e/mcp HTTP/1.1', `content-length: ${LIST.length}`], LIST],
    ['a double slash', ['POST //mcp HTTP/1.1', `content-length: ${LIST.length}`], LIST],
    [
      'two lengths that differ',
      ['POST /mcp HTTP/1.1', 'content-length: 5', `content-length: ${LIST.length}`],
      LIST,
    ],
    [
      'a length and chunks',
      ['POST /mcp HTTP/1.1', `content-length: ${LIST.length}`, 'transfer-encoding: chunked'],
      `${LIST.length.toString(16)}\r\n${LIST}\r\n0\r\n\r\n`,
    ],
    [
      'an odd transfer encoding',
      ['POST /mcp HTTP/1.1', 'transfer-encoding: xchunked'],
      `${LIST.length.toString(16)}\r\n${LIST}\r\n0\r\n\r\n`,
    ],
    ['a sign in the length', ['POST /mcp HTTP/1.1', `content-length: +${LIST.length}`], LIST],
    ['a folded header', ['POST /mcp HTTP/1.1', 'x-a: b', ' c: d', 'content-length: 0'], ''],
    ['a space before the colon', ['POST /mcp HTTP/1.1', 'content-length : 2'], '{}'],
    [
      'a compressed body',
      ['POST /mcp HTTP/1.1', 'content-encoding: gzip', 'content-length: 2'],
      '{}',
    ],
  ])('are refused: %s', async (_, [first = '', ...rest], body) => {
    const { agent } = recorder();
    await using gateway = await openTestGateway({ percy: agent });
    const common = ['host: 127.0.0.1', CREDENTIAL, TYPE, 'connection: close'];
    const smuggled = 'GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n';
    const answer = await sendRaw(gateway.url, [first, ...common, ...rest], body + smuggled);
    expect(statusOf(answer)).toBeGreaterThanOrEqual(400);
    expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
    expect(answer).not.toContain('"tools"');
  });

  it('a WebSocket is never compressed, however the client asks', async () => {
    const { agent } = recorder();
    await using gateway = await openTestGateway({ percy: agent });
    const socket = createConnection(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.write(
      `${[
        'GET /mcp/ws HTTP/1.1',
        'host: 127.0.0.1',
        CREDENTIAL,
        'connection: upgrade',
        'upgrade: websocket',
        'sec-websocket-version: 13',
        'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-protocol: mcp',
        'sec-websocket-extensions: permessage-deflate; client_max_window_bits',
      ].join('\r\n')}\r\n\r\n`,
    );
    const answer = await new Promise<string>((resolve) => {
      socket.once('data', (data) => resolve(data.toString()));
    });
    socket.destroy();
    expect(statusOf(answer)).toBe(101);
    expect(answer.toLowerCase()).not.toContain('sec-websocket-extensions');
  });
});
