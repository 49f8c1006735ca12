import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { GatewayTransport, readAddress } from '../src/gateway-client.ts';

const RESULT = { jsonrpc: '2.0', id: 1, result: {} } as const;

/** What a client gets for a request whose stream ends so. */
async function answersTo(end: (response: ServerResponse) => void) {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': begun\n\n', () => end(response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const transport = new GatewayTransport(new URL(`http://127.0.0.1:${port}/mcp`));
  const answers: unknown[] = [];
  transport.onmessage = (message) => answers.push(message);
  await transport.start();
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call' });
  await expect.poll(() => answers).not.toHaveLength(0);
  await transport.close();
  server.close();
  return answers;
}

describe('a request to the gateway', () => {
  it.each([
    ['is cut off', (response: ServerResponse) => void response.destroy()],
    ['ends', (response: ServerResponse) => void response.end()],
  ])('fails at once when its stream %s without the answer', async (_, end) => {
    expect(await answersTo(end)).toMatchObject([{ id: 1, error: { code: -32_000 } }]);
  });

  it('is answered first by the answer itself', async () => {
    const text = `data: ${JSON.stringify(RESULT)}\n\n`;
    const [first] = await answersTo((response) => void response.end(text));
    expect(first).toEqual(RESULT);
  });
});

describe('a command that an agent runs', () => {
  const env = { STARLOOM_HOME: '/nowhere', STARLOOM_URL: 'http://127.0.0.1:1', STARLOOM_KEY: 'k' };

  it('says in which program it runs, so that its calls belong to the calls of that agent', async () => {
    const { headers } = await readAddress({ ...env, STARLOOM_PROCESS: 'a.1@' });
    expect(headers).toEqual({ authorization: 'Bearer k', 'x-starloom-process': 'a.1@' });
    expect((await readAddress(env)).headers).toEqual({ authorization: 'Bearer k' });
  });
});
