import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { createAddressGuard, createGuardedFetch, GuardedHttp } from '../src/index.ts';

const MiB = 1_048_576;

async function open(answer: RequestListener) {
  let connections = 0;
  const server: Server = createServer(answer).on('connection', () => {
    connections += 1;
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const http = new GuardedHttp({ guard: createAddressGuard({ allow: ['127.0.0.1'] }) });
  return {
    http,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      await http.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

const endless: RequestListener = (_, response) => {
  const write = () => {
    while (!response.destroyed && response.write('x'.repeat(65_536)));
  };
  response.on('drain', write);
  write();
};

describe('requests through the guard', () => {
  it('are refused for an address of our own network that is not named', async () => {
    await using world = await open((_, response) => response.end());
    const strict = new GuardedHttp({ guard: createAddressGuard() });
    expect(() => strict.send(world.url, {})).toThrow(
      expect.objectContaining({ code: 'POLICY_DENIED' }),
    );
    await strict.close();
    expect(world.connections()).toBe(0);
  });

  it('hand over redirects as they are', async () => {
    await using world = await open((_, response) => {
      response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    });
    const answer = world.http.send(world.url, {});
    expect((await answer.head).status).toBe(302);
    expect((await answer.read(10)).isWhole).toBe(true);
  });

  it('read no more than they may of an endless answer', async () => {
    await using world = await open(endless);
    const answer = world.http.send(world.url, {});
    const { bytes, isWhole } = await answer.read(MiB);
    expect([bytes.length, isWhole]).toEqual([MiB, false]);
  });

  it('fail with the reason of their signal, whatever was not read yet', async () => {
    await using world = await open((_, response) => void response.write('half'));
    const control = new AbortController();
    const answer = world.http.send(world.url, {}, control.signal);
    await answer.head;
    const reason = new FabricError('TIMEOUT', 'Too slow');
    control.abort(reason);
    await expect(answer.read(MiB)).rejects.toBe(reason);
    const late = world.http.send(world.url, {}, control.signal);
    await expect(late.head).rejects.toBe(reason);
  });

  it('say whether they were sent when a connection fails', async () => {
    await using world = await open(({ socket }) => void socket.destroy());
    const lost = { code: 'AGENT_OFFLINE', details: { reason: 'connection_lost' } };
    await expect(world.http.send(world.url, {}).head).rejects.toMatchObject(lost);
    const refused = { code: 'AGENT_OFFLINE', details: { reason: 'refused', sent: false } };
    const unserved = world.http.send('http://127.0.0.1:1/', {});
    await expect(unserved.head).rejects.toMatchObject(refused);
  });

  it('keep the connection of an answer that is left and ends soon', async () => {
    await using world = await open((_, response) => response.end('x'.repeat(1000)));
    for (let n = 0; n < 3; n += 1) {
      const answer = world.http.send(world.url, {});
      await answer.head;
      answer.leave();
      await expect(answer.read(MiB)).resolves.toMatchObject({ isWhole: true });
      // The pool has its connection back when the turn is over.
      await setImmediate();
    }
    expect(world.connections()).toBe(1);
  });

  it('close the connection of an answer that is left and does not end', async () => {
    const closed = Promise.withResolvers<void>();
    await using world = await open((request, response) => {
      response.once('close', closed.resolve);
      endless(request, response);
    });
    const answer = world.http.send(world.url, {});
    await answer.head;
    answer.leave();
    await closed.promise;
  });

  it('fail as those of any fetch do', async () => {
    await using world = await open(({ url }, response) => {
      if (url !== '/silent') response.socket?.destroy();
    });
    const { fetch, close } = createGuardedFetch({ hosts: ['127.0.0.1'], timeoutMs: 100 });
    await expect(fetch(world.url)).rejects.toThrow(TypeError);
    await expect(fetch(`${world.url}silent`)).rejects.toMatchObject({ name: 'TimeoutError' });
    await close();
  });
});
