import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ManifestInput } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openGateway } from './gateway.ts';

/** An HTTP server that does with a POST what the test says; healthy otherwise. */
async function serve(onPost: RequestListener) {
  const server = createServer((request, response) => {
    if (request.method === 'GET') return void response.writeHead(404).end();
    request.resume();
    request.once('end', () => onPost(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    uri: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const agent = (agent_id: string, uri: string, protocol = 'http'): ManifestInput => ({
  agent_id,
  endpoint: { transport: 'http', uri, protocol },
  capabilities: [{ name: 'work', streaming: true, input_schema: { type: 'object' } }],
});

const sse = { 'content-type': 'text/event-stream' };
const json = { 'content-type': 'application/json' };
const token = 'event: token\ndata: {"text":"so far "}\n\n';

const HOSTILE: Record<string, RequestListener> = {
  'hangs before headers': () => {},
  'hangs in the middle of a stream': (_, response) => {
    response.writeHead(200, sse).write(token);
  },
  'streams garbage': (_, response) => {
    response.writeHead(200, sse).end('event: token\ndata: {"text":\n\n\u0000\u0001 what');
  },
  'never ends an event': (_, response) => {
    response.writeHead(200, sse);
    const more = () =>
      response.destroyed || response.write('x'.repeat(65_536), () => setImmediate(more));
    more();
  },
  'streams for ever': (_, response) => {
    response.writeHead(200, sse);
    const more = () => response.destroyed || response.write(token, () => setImmediate(more));
    more();
  },
  'ends without a result': (_, response) => {
    response.writeHead(200, sse).end(token);
  },
  'dies in the middle': (_, response) => {
    response.writeHead(200, sse).write(token);
    setImmediate(() => response.destroy());
  },
  'sends 100 MB': (_, response) => {
    response.writeHead(200, json);
    let left = 1600;
    const more = () => {
      left -= 1;
      if (left < 0) response.end();
      else if (!response.destroyed)
        response.write('"'.padEnd(65_536, 'x'), () => setImmediate(more));
    };
    more();
  },
  'answers something else': (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>login</html>');
  },
  'redirects elsewhere': (_, response) => {
    response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end();
  },
  'denies us': (_, response) => {
    response.writeHead(401, json).end('{"secret":"of the agent"}');
  },
};

describe.each(['http', 'mcp'])('an agent over %s', (protocol) => {
  it.each(Object.entries(HOSTILE))(
    'that %s is answered for by another, in good time',
    async (_, onPost) => {
      await using bad = await serve(onPost);
      await using good = await serve((_, response) => {
        response.writeHead(200, json).end('{"answer":"saved"}');
      });
      await using gateway = await openGateway([
        { ...agent('bad', bad.uri, protocol), fallbacks: ['good'] },
        agent('good', good.uri),
      ]);
      const payload = await gateway.call({
        agent_id: 'bad',
        capability: 'work',
        stream: true,
        timeout_ms: 1_000,
      });
      expect(payload).toMatchObject({
        ok: true,
        agent_id: 'good',
        result: { answer: 'saved' },
        attempts: [
          { agent_id: 'bad', ok: false },
          { agent_id: 'good', ok: true },
        ],
      });
      expect(JSON.stringify(payload)).not.toContain('of the agent');
    },
  );
});
