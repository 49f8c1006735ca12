import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Listening, listenOn } from '../../adapters/test/fixtures/listen-on.ts';
import { openWorld } from './agents-world.ts';
import { startGateway } from './running-gateway.ts';

const PETS = {
  openapi: '3.1.0',
  info: { title: 'Pet Store', version: '1' },
  servers: [{ url: '/v1' }],
  paths: {
    '/pets/{id}': {
      get: {
        operationId: 'getPet',
        summary: 'Finds a pet',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      },
    },
  },
};

/** Serves the document, and pets below /v1 with the key. */
async function startPets(document: object = PETS): Promise<Listening & { seen: string[] }> {
  const seen: string[] = [];
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    seen.push(`${request.url} ${request.headers['x-key']}`);
    const id = /^\/v1\/pets\/(\w+)$/.exec(request.url ?? '')?.[1];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(id === undefined ? document : { id, name: 'Rex' }));
  };
  const server = await listenOn(createServer(serve));
  onTestFinished(() => server.stop());
  return { ...server, seen };
}

describe('starloom agents add, for an OpenAPI document', () => {
  it('[G26] makes its operations tools that can be called', async () => {
    const pets = await startPets();
    await using gateway = await startGateway();
    const document = `${pets.uri}/openapi.json`;
    const added = await gateway.run('agents', 'add', document, '--header', 'X-Key=k1');
    expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/getPet/) });
    const called = await gateway.run('call', 'pet-store', 'getPet', '--arg', 'id=rex7', '--json');
    expect(JSON.parse(called.stdout)).toMatchObject({
      ok: true,
      result: { data: { id: 'rex7', name: 'Rex' } },
    });
    expect(pets.seen.at(-1)).toBe('/v1/pets/rex7 k1');
    const escaped = await gateway.run('call', 'pet-store', 'getPet', '--arg', 'id=../admin');
    expect(escaped.code).toBe(2);
    expect(pets.seen.some((line) => line.includes('admin'))).toBe(false);
  });

  it('[G26] writes a file by its place, and the server that was named', async () => {
    await using world = await openWorld({ 'pets.json': JSON.stringify(PETS) });
    const server = ['--server', 'https://pets.example/v1'];
    const { code } = await world.run('agents', 'add', './pets.json', '--name', 'pets', ...server);
    expect(code).toBe(0);
    expect(await world.agents()).toBe(`- agent_id: pets
  endpoint:
    transport: http
    protocol: http
    uri: "https://pets.example/v1"
    options:
      profile: openapi
      document: "./pets.json"
  trust_tier: org
`);
  });

  it.each([
    ['a file without a server', './pets.json', 2, 'server_needed'],
    ['a document of version 2', './old.yaml', 7, 'convert it to OpenAPI 3'],
    ['a server that is no URL', './pets.json --server x', 64, 'is no URL'],
    ['a server without a document', 'https://mcp.example/mcp --server https://x', 64, '--server'],
  ])('refuses %s', async (_, words, code, text) => {
    await using world = await openWorld({
      'pets.json': JSON.stringify(PETS),
      'old.yaml': 'swagger: "2.0"\npaths: {}\n',
    });
    const refused = await world.run('agents', 'add', '--json', ...words.split(' '));
    expect(refused).toMatchObject({ code, stderr: expect.stringContaining(text) });
  });

  it('refuses a document that sends calls to another origin, unless that is said', async () => {
    const pets = await startPets({ ...PETS, servers: [{ url: 'https://evil.example/v1' }] });
    await using world = await openWorld();
    const add = (...more: string[]) =>
      world.run('agents', 'add', `${pets.uri}/openapi.json`, '--json', ...more);
    const refused = await add();
    expect(refused).toMatchObject({ code: 2 });
    expect(JSON.parse(refused.stderr)).toMatchObject({
      error: { details: { reason: 'server_needed', server: 'https://evil.example/v1' } },
    });
    const added = await add('--server', 'https://evil.example/v1');
    expect(JSON.parse(added.stdout).agent.endpoint.uri).toBe('https://evil.example/v1');
  });
});
