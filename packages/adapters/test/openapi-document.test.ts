import { fileURLToPath } from 'node:url';
import { silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { SchemaValidators } from '@starloom/wire/foreign-schema';
import { describe, expect, it, onTestFinished } from 'vitest';
import { documentOf, openApiAdapter, startRecorder, writeDocument } from './fixtures/open-api.ts';
import { json } from './fixtures/template-server.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };

/** What an agent with this document offers. */
async function describeDocument(document: unknown, name = 'openapi.json') {
  const adapter = openApiAdapter('http://127.0.0.1:1/v1', writeDocument(document, name));
  onTestFinished(() => adapter.close());
  return adapter.describe(CONTEXT);
}

const operation = (more: object = {}) => ({ operationId: 'op', responses: {}, ...more });

describe('[G26] an OpenAPI document', () => {
  it('makes each operation a capability, described and with its schema', async () => {
    const Node = {
      type: 'object',
      properties: { next: { $ref: '#/components/schemas/Node' }, n: { type: 'integer' } },
    };
    const { capabilities, version, description } = await describeDocument(
      documentOf(
        {
          '/nodes/{id}': {
            parameters: [{ $ref: '#/components/parameters/id' }],
            put: operation({
              operationId: 'putNode',
              summary: 'Puts a node',
              description: 'At an id\u001b[31m',
              requestBody: { $ref: '#/components/requestBodies/node' },
            }),
            get: { responses: {} },
          },
        },
        {
          components: {
            schemas: { Node },
            parameters: {
              id: { name: 'id', in: 'path', required: true, description: 'Which', schema: {} },
            },
            requestBodies: {
              node: {
                required: true,
                content: { 'application/json': { schema: { $ref: '#/components/schemas/Node' } } },
              },
            },
          },
        },
      ),
    );
    expect({ version, description }).toEqual({ version: '2.0', description: 'Test' });
    expect(capabilities).toMatchObject([
      { name: 'get_nodes_id', tool: 'GET /nodes/{id}', idempotent: true },
      {
        name: 'putNode',
        tool: 'PUT /nodes/{id}',
        description: 'Puts a node\n\nAt an id',
        annotations: { readOnlyHint: false },
        input_schema: {
          type: 'object',
          properties: { id: { description: 'Which' }, body: { $ref: '#/$defs/Node' } },
          required: ['id', 'body'],
          additionalProperties: false,
          $defs: {
            Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } },
          },
        },
      },
    ]);
  });

  it('may be YAML, and of version 3.0', async () => {
    const { capabilities } = await describeDocument(
      `openapi: 3.0.3
info: {title: Old, version: '1'}
paths:
  /x:
    get:
      operationId: x
      parameters:
        - {name: n, in: query, schema: {type: integer, nullable: true, minimum: 0, exclusiveMinimum: true}}
        - {name: e, in: query, schema: {type: string, enum: [a], nullable: true, example: a}}
`,
      'openapi.yaml',
    );
    expect(capabilities[0]?.input_schema).toMatchObject({
      properties: {
        n: { type: ['integer', 'null'], exclusiveMinimum: 0 },
        e: { type: ['string', 'null'], enum: ['a', null] },
      },
    });
    expect(JSON.stringify(capabilities)).not.toMatch(/nullable|"minimum"|example/);
  });

  const parameter = (more: object) => ({ parameters: [{ name: 'p', schema: {}, ...more }] });
  const schema = (value: object) => parameter({ in: 'query', required: true, schema: value });

  it.each([
    ['needs a cookie', '/x', parameter({ in: 'cookie', required: true })],
    ['sets the host', '/x', parameter({ in: 'header', name: 'Host', required: true })],
    [
      'sets our trace',
      '/x',
      parameter({ in: 'header', name: 'X-OpenStarry-Depth', required: true }),
    ],
    ['sets a header that is none', '/x', parameter({ in: 'header', name: 'a\nb', required: true })],
    ['refers to another document', '/x', schema({ $ref: 'https://evil.example/s.json' })],
    ['refers to a file', '/x', schema({ $ref: './s.json#/a' })],
    ['refers to nothing', '/x', schema({ $ref: '#/components/schemas/None' })],
    ['has a parameter that is not there', '/x', { parameters: [{ $ref: '#/components/p' }] }],
    ['has a path out of the server', '/../admin', {}],
    ['has a path to another host', '//evil.example/x', {}],
    ['has a path with a query', '/x?admin=1', {}],
    ['has a path with a line end', '/x\r\nHost: evil', {}],
    ['has a path without its parameter', '/x/{id}', {}],
    ['has a server of its own', '/x', { servers: [{ url: 'https://evil.example/v1' }] }],
    ['has a style that is unknown', '/x/{p}', parameter({ in: 'path', style: 'matrix' })],
    [
      'takes only files',
      '/x',
      { requestBody: { required: true, content: { 'multipart/form-data': {} } } },
    ],
    ['has a schema of a million', '/x', schema({ enum: Array.from({ length: 2e5 }, String) })],
  ])('leaves out an operation that %s', async (_, path, more) => {
    const paths = { [path]: { get: operation(more) }, '/fine': { get: { operationId: 'fine' } } };
    const { capabilities } = await describeDocument(documentOf(paths));
    expect(capabilities.map(({ name }) => name)).toEqual(['fine']);
  });

  it('leaves out optional parameters that cannot be sent, and keeps names apart', async () => {
    const all = ['path', 'query', 'header', 'cookie'].map((place) => {
      return { name: 'id', in: place, required: place === 'path', schema: {} };
    });
    const more = [
      { name: 'Authorization', in: 'header', schema: {} },
      { name: 'body', in: 'query', schema: {} },
    ];
    const paths = { '/x/{id}': { get: operation({ parameters: [...all, ...more] }) } };
    const { capabilities } = await describeDocument(documentOf(paths));
    expect(Object.keys(capabilities[0]?.input_schema?.properties as object)).toEqual([
      'id',
      'query_id',
      'query_body',
      'header_id',
    ]);
  });

  it.each([
    ['version 2', { swagger: '2.0', paths: {} }],
    ['no version', { paths: {} }],
    ['no paths', { openapi: '3.1.0' }],
    ['a list', []],
    ['no JSON', '{"openapi":'],
    ['references in a circle', 'openapi: 3.1.0\npaths: &a {"/x": *a}\n', 'openapi.yaml'],
    [
      'aliases without end',
      `openapi: 3.1.0\na: &a [x,x,x,x,x,x,x,x]\n${[...'bcdefgh']
        .map((name, at) => `${name}: &${name} [${`*${'abcdefg'[at]},`.repeat(8)}]`)
        .join('\n')}\npaths: {}\n`,
      'openapi.yaml',
    ],
  ])('of %s is refused', async (_, document, name?: string) => {
    await expect(describeDocument(document, name)).rejects.toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'bad_document' },
    });
  });

  it('that refers in circles has operations all the same', async () => {
    const components = {
      parameters: {
        a: { $ref: '#/components/parameters/b' },
        b: { $ref: '#/components/parameters/a' },
      },
    };
    const paths = {
      '/x': { get: operation({ parameters: [{ $ref: '#/components/parameters/a' }] }) },
      '/y': { get: { operationId: 'y' } },
    };
    const { capabilities } = await describeDocument(documentOf(paths, { components }));
    expect(capabilities.map(({ name }) => name)).toEqual(['y']);
  });
});

it('[G26] our own document makes capabilities whose schemas can be used', async () => {
  const path = fileURLToPath(new URL('../../coordination/openapi.json', import.meta.url));
  const adapter = openApiAdapter('http://127.0.0.1:1/', path);
  onTestFinished(() => adapter.close());
  const { capabilities } = await adapter.describe(CONTEXT);
  expect(capabilities.map(({ name }) => name)).toContain('agent_registry');
  const validators = new SchemaValidators();
  for (const { input_schema = {} } of capabilities) {
    expect(validators.problems(input_schema, {}, 'arguments')).not.toEqual([]);
  }
});

describe('[G26] an OpenAPI document at an address', () => {
  const DOCUMENT = documentOf({ '/x': { get: { operationId: 'x' } } });
  const headers = { authorization: 'Bearer sk-1234567890' };

  it('is read with the credentials of the agent at its own origin alone', async () => {
    const own = await startRecorder((_request, response) => {
      json(response, DOCUMENT);
      return true;
    });
    const other = await startRecorder((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/yaml' });
      response.end('openapi: 3.1.0\npaths: {}\n');
      return true;
    });
    const mine = openApiAdapter(own.uri, `${own.uri}/openapi.json`, { headers });
    const theirs = openApiAdapter(own.uri, `${other.uri}/openapi.yaml`, { headers });
    onTestFinished(() => Promise.all([mine.close(), theirs.close()]).then(() => {}));
    expect((await mine.describe(CONTEXT)).capabilities).toHaveLength(1);
    expect((await theirs.describe(CONTEXT)).capabilities).toHaveLength(0);
    expect(own.seen[0]?.headers.authorization).toBe(headers.authorization);
    expect(other.seen[0]?.headers).not.toHaveProperty('authorization');
  });

  it('is not followed elsewhere', async () => {
    const other = await startRecorder();
    const own = await startRecorder((_request, response) => {
      response.writeHead(302, { location: `${other.uri}/openapi.json` }).end();
      return true;
    });
    const adapter = openApiAdapter(own.uri, `${own.uri}/openapi.json`);
    onTestFinished(() => adapter.close());
    await expect(adapter.describe(CONTEXT)).rejects.toMatchObject({
      details: { reason: 'redirect' },
    });
    expect(other.seen).toEqual([]);
  });

  it('decides nothing about where calls go', async () => {
    const evil = await startRecorder();
    const own = await startRecorder((request, response) => {
      const servers = [{ url: evil.uri }];
      json(response, request.url === '/doc' ? { ...DOCUMENT, servers } : { here: true });
      return true;
    });
    const adapter = openApiAdapter(`${own.uri}/v1`, `${own.uri}/doc`, { headers });
    onTestFinished(() => adapter.close());
    const target = { agent_id: 'subject', capability: 'x' };
    const envelope = exampleEnvelope('', { target, input: { arguments: {} } });
    await Array.fromAsync(adapter.call(envelope, CONTEXT));
    expect(own.seen.map(({ url }) => url)).toEqual(['/doc', '/v1/x']);
    expect(evil.seen).toEqual([]);
  });
});
