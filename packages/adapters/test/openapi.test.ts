import type { ServerResponse } from 'node:http';
import { type EnvelopeInput, FabricError, silentLog } from '@starloom/core';
import { adapterContract, exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hostileHttpAgent } from './fixtures/hostile-http.ts';
import {
  documentOf,
  type OpenApiAgent,
  openApiAdapter,
  startRecorder,
  startWorkServer,
  WORK,
  writeDocument,
} from './fixtures/open-api.ts';
import { json } from './fixtures/template-server.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };

describe('[G21][G26] a REST interface with an OpenAPI document', () => {
  adapterContract(
    'http, openapi',
    async () => {
      const server = await startWorkServer();
      return {
        adapter: openApiAdapter(`${server.uri}/api`, writeDocument(WORK)),
        stopAgent: () => server.stop(),
        close: () => server.stop(),
      };
    },
    { tokens: false, toolCalls: false, progress: false, artifacts: false, attachments: false },
  );
});

hostileHttpAgent('http, openapi', {
  open: (uri, bytes) =>
    openApiAdapter(uri, writeDocument(WORK), {
      options: { max_result_bytes: bytes, max_stream_bytes: bytes },
    }),
  serve: (_request, response) => json(response, 'fine'),
  takesAnyJson: true,
});

/** Calls an operation of `paths` with arguments; what the server saw, and how it ended. */
async function call(
  paths: object,
  capability: string,
  given: Record<string, unknown>,
  agent: OpenApiAgent = {},
  answer?: (response: ServerResponse) => void,
) {
  const server = await startRecorder((_request, response) => {
    answer?.(response);
    return answer !== undefined;
  });
  const document = writeDocument(documentOf(paths));
  const adapter = openApiAdapter(`${server.uri}/v1/?key=k`, document, agent);
  onTestFinished(() => adapter.close());
  const input: EnvelopeInput['input'] = { arguments: given };
  const envelope = exampleEnvelope('', { input, target: { agent_id: 'subject', capability } });
  const outcome = await Array.fromAsync(adapter.call(envelope, CONTEXT)).catch(
    (thrown: unknown) => thrown,
  );
  return { outcome, seen: server.seen, adapter };
}

const string = { type: 'string' };
const inPath = (name: string) => ({ name, in: 'path', required: true, schema: string });

const FILES = {
  '/files/{name}/lines': {
    parameters: [inPath('name')],
    get: {
      operationId: 'lines',
      parameters: [
        { name: 'q', in: 'query', schema: string },
        { name: 'tags', in: 'query', schema: { type: 'array', items: string } },
        { name: 'ids', in: 'query', explode: false, schema: { type: 'array', items: string } },
        { name: 'filter', in: 'query', style: 'deepObject', schema: { type: 'object' } },
        { name: 'X-Mode', in: 'header', schema: string },
      ],
    },
  },
};

describe('[G26] an operation', () => {
  it('has each argument in its place', async () => {
    const given = {
      name: 'a b/ü',
      q: 'x&y=1#?',
      tags: ['a', 'b c'],
      ids: ['1,2', '3'],
      filter: { 'k&': '1' },
      'X-Mode': 'fast',
    };
    const { outcome, seen } = await call(FILES, 'lines', given);
    expect(outcome).toEqual([
      { type: 'final', data: { answer: '{"ok":true}', data: { ok: true } } },
    ]);
    expect(seen).toMatchObject([
      {
        method: 'GET',
        url:
          '/v1/files/a%20b%2F%C3%BC/lines?key=k&q=x%26y%3D1%23%3F&tags=a&tags=b%20c' +
          '&ids=1%2C2,3&filter%5Bk%26%5D=1',
        headers: { 'x-mode': 'fast', 'x-openstarry-depth': '1' },
      },
    ]);
  });

  it.each([
    ['JSON', 'application/json', { a: [1] }, '{"a":[1]}'],
    ['a kind of JSON', 'application/vnd.pet+json; charset=utf-8', 1, '1'],
    [
      'a form',
      'application/x-www-form-urlencoded',
      { a: 'x&b=2', c: [1, 2] },
      'a=x%26b%3D2&c=1&c=2',
    ],
    ['a text', 'text/plain', 'x', 'x'],
  ])('sends its body as %s', async (_, type, body, text) => {
    const content = { [type]: { schema: {} } };
    const paths = { '/p': { post: { operationId: 'p', requestBody: { content } } } };
    const { seen } = await call(paths, 'p', { body });
    expect(seen).toMatchObject([{ method: 'POST', url: '/v1/p?key=k', body: text }]);
    expect(seen[0]?.headers['content-type']).toBe(type.split(';')[0]);
  });

  it.each([
    ['an argument that is missing', {}, 'name'],
    ['an argument that it does not have', { name: 'a', admin: true }, 'admin'],
    ['an argument of another kind', { name: { a: 1 } }, 'name'],
    ['an object where names would come from the caller', { name: 'a', q: { admin: 1 } }, 'q'],
  ])('refuses %s before anything is sent', async (_, given, argument) => {
    const { outcome, seen } = await call(FILES, 'lines', given);
    expect(outcome).toMatchObject({ code: 'BAD_INPUT', details: { argument, sent: false } });
    expect(seen).toEqual([]);
  });

  it('may answer with a text, lines of JSON, or nothing', async () => {
    const paths = { '/p': { get: { operationId: 'p' } } };
    const answers = async (type: string, body: string, status = 200) => {
      const { outcome } = await call(paths, 'p', {}, {}, (response) => {
        response.writeHead(status, type === '' ? {} : { 'content-type': type }).end(body);
      });
      return outcome;
    };
    const final = (data: object) => [{ type: 'final', data }];
    expect(await answers('text/csv', 'a,b')).toEqual(final({ answer: 'a,b' }));
    expect(await answers('', '', 204)).toEqual(final({ answer: '' }));
    expect(await answers('application/x-ndjson', '1\n{"a":2}\n')).toEqual(
      final({ answer: '[1,{"a":2}]', data: [1, { a: 2 }] }),
    );
  });

  it('that does not find what was asked for gives its own answer', async () => {
    const refuse = (response: ServerResponse) => json(response, { detail: 'no such file' }, 404);
    const { outcome } = await call(FILES, 'lines', { name: 'a' }, {}, refuse);
    expect(FabricError.is(outcome) && outcome.isAgentAnswer).toBe(true);
    const paths = { '/p': { get: { operationId: 'p' } } };
    const gone = await call(paths, 'p', {}, {}, refuse);
    expect(gone.outcome).toMatchObject({ code: 'CAPABILITY_NOT_FOUND' });
  });

  it('is called by another name where the manifest gives it one', async () => {
    const capabilities = [{ name: 'read', tool: 'GET /files/{name}/lines' }];
    const { seen, adapter } = await call(FILES, 'read', { name: 'a' }, { capabilities });
    expect(seen).toHaveLength(1);
    const target = { agent_id: 'subject', capability: 'lines' };
    const calls = adapter.call(exampleEnvelope('', { target }), CONTEXT);
    await expect(Array.fromAsync(calls)).rejects.toMatchObject({
      code: 'CAPABILITY_NOT_FOUND',
      details: { sent: false },
    });
  });
});

describe('[G26] arguments that try to leave their place', () => {
  const PATHS = [
    '..',
    '.',
    '',
    '../admin',
    '..\\admin',
    'a/../../admin',
    '%2e%2e',
    '%2e%2e%2fadmin',
    '%252e%252e%252fadmin',
    '..;/admin',
    '..%00',
    'a/./b',
    'a//b',
    '/etc/passwd',
    'a\r\nX-Evil: 1',
    'a\0',
    '\ud800',
  ];
  const ENCODED = ['a?admin=1', 'a#x', 'a%2fb', 'a&b=c', 'a;b', 'a@evil.example', 'http:x', 'a b'];
  const QUERIES = ['a&admin=1', 'a#x', 'a\r\nX-Evil: 1', 'a%26admin=1', '?', 'a;admin=1', 'a+b'];
  const HEADERS = ['a\r\nX-Evil: 1', 'a\nb', 'a\0', 'é', '\u2028'];

  it.each(PATHS)('are refused in a path: %j', async (name) => {
    const { outcome, seen } = await call(FILES, 'lines', { name });
    expect(outcome).toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'bad_argument', argument: 'name', sent: false },
    });
    expect(seen).toEqual([]);
  });

  it.each(ENCODED)('stay one segment of a path: %j', async (name) => {
    const { seen } = await call(FILES, 'lines', { name });
    const url = new URL(seen[0]?.url ?? '', 'http://server');
    const segments = url.pathname.split('/');
    expect(segments).toHaveLength(5);
    expect(decodeURIComponent(segments[3] ?? '')).toBe(name);
    expect([...url.searchParams.keys()]).toEqual(['key']);
    expect(url).toMatchObject({ host: 'server', hash: '' });
  });

  it.each(QUERIES)('stay one value of a query: %j', async (q) => {
    const { seen } = await call(FILES, 'lines', { name: 'a', q, tags: [q] });
    const { searchParams } = new URL(seen[0]?.url ?? '', 'http://server');
    expect([...searchParams]).toEqual([
      ['key', 'k'],
      ['q', q],
      ['tags', q],
    ]);
    expect(seen[0]?.headers).not.toHaveProperty('x-evil');
  });

  it.each(HEADERS)('are refused in a header: %j', async (value) => {
    const { outcome, seen } = await call(FILES, 'lines', { name: 'a', 'X-Mode': value });
    expect(outcome).toMatchObject({ code: 'BAD_INPUT', details: { argument: 'X-Mode' } });
    expect(seen).toEqual([]);
  });

  it('cannot replace what the manifest sends, nor stand beside it', async () => {
    const parameters = [
      { name: 'key', in: 'query', required: true, schema: string },
      { name: 'X-Api-Key', in: 'header', required: true, schema: string },
      { name: 'Authorization', in: 'header', required: true, schema: string },
    ];
    const paths = { '/p': { get: { operationId: 'p', parameters } } };
    const agent = { headers: { 'x-api-key': 'ours' } };
    const { seen } = await call(paths, 'p', {}, agent);
    expect(seen).toMatchObject([{ url: '/v1/p?key=k', headers: { 'x-api-key': 'ours' } }]);
    for (const name of parameters.map((parameter) => parameter.name)) {
      const { outcome } = await call(paths, 'p', { [name]: 'theirs' }, agent);
      expect(outcome).toMatchObject({ code: 'BAD_INPUT', details: { argument: name } });
    }
  });

  it('are read in a time that grows with their length alone', async () => {
    const name = `;${' '.repeat(500_000)}\u2028x`;
    const { outcome } = await call(FILES, 'lines', { name });
    expect(outcome).toMatchObject({ code: 'BAD_INPUT' });
  });

  it('cannot come by way of the prototype', async () => {
    const given = JSON.parse('{"name": "a", "__proto__": {"q": "x"}}');
    const { seen } = await call(FILES, 'lines', given);
    expect(seen[0]?.url).toBe('/v1/files/a/lines?key=k');
  });
});
