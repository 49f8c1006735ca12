// The manifests of the section HTTP of docs/agents-of-every-protocol.md, each at a server of its kind.

import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ManifestInput } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { listenOn } from '../packages/adapters/test/fixtures/listen-on.ts';
import { sseWriter } from '../packages/adapters/test/fixtures/profile-run.ts';
import {
  type ProfileName,
  startProfileServer,
} from '../packages/adapters/test/fixtures/profile-servers.ts';
import { json } from '../packages/adapters/test/fixtures/template-server.ts';
import { codeBlocks } from './support/code-blocks.ts';
import { connect } from './support/connect.ts';
import { startGateway } from './support/start-gateway.ts';

const PAGE = readFileSync(new URL('../docs/agents-of-every-protocol.md', import.meta.url), 'utf8');
const [, SECTION = ''] = PAGE.split('\n## HTTP\n');
const MANIFESTS = codeBlocks(SECTION.split('\n## ')[0] ?? '')
  .filter(({ language }) => language === 'yaml')
  .flatMap(({ code }) => parse(code) as ManifestInput[]);

const ENV = { WEATHER_KEY: 'k1', MODEL_KEY: 'k2', LANGGRAPH_KEY: 'k3', PETS_KEY: 'k4' };
const PROFILES: Readonly<Record<string, ProfileName>> = {
  model: 'openai-chat',
  thinker: 'openai-responses',
  copilot: 'ag-ui',
  graphs: 'langgraph',
};
const PETS = `openapi: 3.0.3
info: { title: Pets, version: '1' }
paths:
  /pets/{id}:
    get:
      operationId: getPet
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      responses: { '200': { description: A pet } }
`;

type Serve = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** Interfaces as the templates of the page describe them, and the pets. */
const SERVERS: Readonly<Record<string, Serve>> = {
  weather: ({ url, headers }, response, body) => {
    const days = [headers.authorization, url, JSON.parse(body)];
    json(response, { forecast: { text: 'sunny', days }, thread: 't1' });
  },
  writer: (_, response, body) => {
    const send = sseWriter(response);
    send({ type: 'step', name: 'thinking' });
    send({ type: 'text', content: 'once' });
    send({ type: 'end', content: `once ${JSON.parse(body).prompt}` });
    response.end();
  },
  renderer: ({ method }, response) =>
    method === 'POST'
      ? json(response, { id: 'job-1', state: 'queued' }, 202)
      : json(response, { id: 'job-1', state: 'succeeded', result: 'drawn' }),
  pets: ({ url, headers }, response) => json(response, { url, key: headers['x-api-key'] }),
};

describe('[G26] the agents over HTTP that the page shows', () => {
  const stack = new AsyncDisposableStack();
  let client: Awaited<ReturnType<typeof connect>>;

  beforeAll(async () => {
    const folder = stack.use(await temporaryFolder());
    writeFileSync(join(folder.path, 'pets.yaml'), PETS);
    const agents = await Promise.all(
      MANIFESTS.map(async (manifest) => {
        const server = await startServer(manifest.agent_id);
        stack.defer(() => server.stop());
        const { pathname } = new URL(manifest.endpoint.uri ?? '');
        const options = { ...manifest.endpoint.options };
        if ('document' in options) options.document = join(folder.path, 'pets.yaml');
        const path = manifest.agent_id in PROFILES ? '' : pathname;
        return { ...manifest, endpoint: { ...manifest.endpoint, uri: server.uri + path, options } };
      }),
    );
    client = stack.use(await connect(stack.use(await startGateway({ agents, env: ENV }))));
  });

  afterAll(() => stack.disposeAsync());

  const call = async (agent_id: string, capability: string, given: object) => {
    const { structuredContent } = await client.callTool({
      name: 'fabric.call',
      arguments: { agent_id, capability, ...given },
    });
    return structuredContent;
  };

  it('are all of them', () => {
    const ids = MANIFESTS.map(({ agent_id }) => agent_id).sort();
    expect(ids).toEqual([...Object.keys(SERVERS), ...Object.keys(PROFILES)].sort());
  });

  it('template: one request and its document', async () => {
    const given = { city: 'São Paulo', days: 3, task: 'rain?' };
    expect(await call('weather', 'forecast', { arguments: given })).toMatchObject({
      ok: true,
      conversation_id: expect.any(String),
      result: {
        answer: 'sunny',
        data: ['Bearer k1', '/api/cities/S%C3%A3o%20Paulo/forecast?units=metric', { days: 3 }],
      },
    });
  });

  it('template: a stream of events', async () => {
    expect(await call('writer', 'write', { task: 'upon a time' })).toMatchObject({
      ok: true,
      result: { answer: 'once upon a time' },
    });
  });

  it('template: an answer that is polled for', async () => {
    expect(await call('renderer', 'render', { task: 'a cat' })).toMatchObject({
      ok: true,
      result: { answer: 'drawn' },
    });
  });

  it.each([
    ['model', 'ask'],
    ['thinker', 'ask'],
    ['copilot', 'ask'],
    ['graphs', 'echo'],
  ])('%s: a ready profile', async (agent, capability) => {
    expect(await call(agent, capability, { task: 'echo hello' })).toMatchObject({
      ok: true,
      result: { answer: 'hello' },
    });
  });

  it('pets: the operations of an OpenAPI document', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('pets.getPet');
    expect(await call('pets', 'getPet', { arguments: { id: 'a/b' } })).toMatchObject({
      ok: true,
      result: { data: { url: '/v1/pets/a%2Fb', key: 'k4' } },
    });
    expect(await call('pets', 'getPet', { arguments: { id: '../admin' } })).toMatchObject({
      ok: false,
      error: { code: 'BAD_INPUT' },
    });
  });
});

function startServer(agentId: string) {
  const profile = PROFILES[agentId];
  if (profile) return startProfileServer(profile, { instead: listAssistants });
  const serve = SERVERS[agentId];
  return listenOn(
    createServer(async (request, response) => {
      // Health checks have no body.
      serve?.(request, response, (await text(request)) || '{}');
    }),
  );
}

function listAssistants({ url }: IncomingMessage, response: ServerResponse): boolean {
  if (url !== '/assistants/search') return false;
  json(response, [{ assistant_id: 'a1', graph_id: 'echo', name: 'echo' }]);
  return true;
}
