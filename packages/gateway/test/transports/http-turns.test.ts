import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { answers, KEY, openTestGateway, STRANGER_KEY } from '../test-gateway.ts';

const FLOOD = 200;

async function connectTo(url: string): Promise<Socket> {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

function toRequest(key: string): string {
  const args = { agent_id: 'percy', capability: 'reason', task: 'x' };
  const params = { name: 'fabric.call', arguments: args };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const head = [
    'POST /mcp HTTP/1.1',
    'host: 127.0.0.1',
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    `content-length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

describe('requests that come at once', () => {
  it('are served by caller in rotation, whoever sent more', async () => {
    const served: string[] = [];
    const agents = { percy: { run: answers('x') } };
    await using gateway = await openTestGateway(agents);
    const sockets = await Promise.all(
      Array.from({ length: FLOOD + 1 }, () => connectTo(gateway.url)),
    );
    const ask = async (socket: Socket, key: string) => {
      socket.write(toRequest(key));
      const [answer] = (await once(socket, 'data')) as [Buffer];
      return answer;
    };
    // The event loop accepts one connection per turn.
    for (const socket of sockets) await ask(socket, KEY);
    const all = sockets.map(async (socket, n) => {
      const key = n < FLOOD ? KEY : STRANGER_KEY;
      const answer = await ask(socket, key);
      served.push(`${key === KEY ? 'flood' : 'other'} ${answer.toString('latin1').slice(9, 12)}`);
    });
    await Promise.all(all);
    for (const socket of sockets) socket.destroy();
    expect(served.filter((each) => each === 'flood 200')).toHaveLength(FLOOD);
    expect(served.indexOf('other 200')).toBeLessThan(FLOOD / 2);
  });
});
