import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { answers, openTestGateway } from '../test-gateway.ts';

const agents = { percy: { run: answers('x') } };
const HEAD = 'GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\n';

async function connectTo(url: string): Promise<Socket> {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

describe('what is not HTTP', () => {
  it.each([
    ['no request', 'what is this?\r\n\r\n', 400, 'not_http'],
    ['a header without a name', `${HEAD}: x\r\n\r\n`, 400, 'not_http'],
    ['headers without end', `${HEAD}x: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'not_http'],
  ])('such as %s is refused with the canonical error', async (_, sent, status, reason) => {
    await using gateway = await openTestGateway(agents);
    const socket = await connectTo(gateway.url);
    socket.write(sent);
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toContain(`content-length: ${Buffer.byteLength(body)}`);
    expect(JSON.parse(body).error.data.error).toMatchObject({
      code: 'BAD_INPUT',
      details: { reason },
    });
  });

  it('is not answered after another answer: the connection ends', async () => {
    await using gateway = await openTestGateway(agents);
    const socket = await connectTo(gateway.url);
    socket.write(`${HEAD}\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^HTTP\/1.1 200 /);
    socket.write('what is this?\r\n\r\n');
    expect(await text(socket)).toBe('');
  });

  it('is not answered when the client has left in the middle of it', async () => {
    await using gateway = await openTestGateway(agents);
    const socket = await connectTo(gateway.url);
    socket.end(HEAD);
    expect(await text(socket)).toBe('');
  });
});
