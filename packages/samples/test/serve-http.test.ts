import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { silentLog } from '@starloom/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KeptServer } from '../src/kept-server.ts';

const PATH = fileURLToPath(new URL('./fixtures/endless.ts', import.meta.url));

let server: KeptServer;

beforeAll(async () => {
  const args = ['--conditions=@starloom/source', PATH, 'http'];
  const script = { command: process.execPath, args };
  server = await KeptServer.start({ name: 'endless', script, log: silentLog });
});

afterAll(() => server.stop());

interface Sent {
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly method?: string;
  readonly path?: string;
}

async function send({ body = '', headers = {}, method = 'POST', path = '' }: Sent) {
  const sending = request(`${server.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
  });
  const [response] = await once(sending.end(body), 'response');
  const answer = JSON.parse(await text(response));
  return { status: response.statusCode, json: answer };
}

describe('an agent that is served over HTTP', () => {
  it('says that it is alive', async () => {
    const { status, json } = await send({ method: 'GET', path: '/health' });
    expect([status, json]).toEqual([200, { status: 'online' }]);
  });

  it.each([
    ['content_type', { body: '{}', headers: { 'content-type': 'text/plain' } }],
    ['invalid_json', { body: '{"target":' }],
    ['envelope', { body: '{"target": 1}' }],
    ['too_large', { body: `"${'x'.repeat(8_388_608)}"` }],
    ['arguments', { body: '{"target": {"capability": "talk"}, "input": {}}' }],
  ])('refuses a body for its %s', async (reason, sent) => {
    const { status, json } = await send(sent);
    expect(status).toBe(400);
    expect(json).toMatchObject({ ok: false, error: { code: 'BAD_INPUT', details: { reason } } });
  });

  it('refuses a capability it does not have', async () => {
    const { status, json } = await send({ body: '{"target": {"capability": "x"}, "input": {}}' });
    expect(status).toBe(404);
    expect(json.error).toMatchObject({
      code: 'CAPABILITY_NOT_FOUND',
      details: { known: ['talk'] },
    });
  });

  it('refuses other methods and other paths', async () => {
    expect((await send({ method: 'GET' })).status).toBe(405);
    expect((await send({ path: '/other' })).status).toBe(404);
  });

  it.each([{ origin: 'https://elsewhere.example' }, { host: 'elsewhere.example' }])(
    'refuses what a web page could send: %j',
    async (headers) => {
      expect((await send({ body: '{}', headers })).status).toBe(403);
    },
  );
});
