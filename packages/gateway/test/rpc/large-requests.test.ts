import type { IncomingMessage } from 'node:http';
import type { Coordination, RpcReply } from '@starloom/coordination';
import { LOCAL_PRINCIPAL } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { RpcPosts } from '../../src/rpc/posts.ts';
import { startRequest } from '../observe/support/observed.ts';
import { FakeResponse } from '../transports/fake-response.ts';
import { request } from './clients.ts';

const LARGE = 1 << 20;

/** Requests that are answered when the test says so, and those that were begun. */
function openPosts() {
  const begun: { caller: string; answer: () => void }[] = [];
  const coordination = {
    connect: ({ principal }: { principal: { id: string } }) => ({
      reply: () => {
        const { promise, resolve } = Promise.withResolvers<RpcReply>();
        const reply = { answer: [], toText: () => '{}' } as unknown as RpcReply;
        begun.push({ caller: principal.id, answer: () => resolve(reply) });
        return promise;
      },
      close: async () => {},
    }),
  } as unknown as Coordination;
  const posts = new RpcPosts(coordination);
  const send = (caller: string, bytes: number, method = 'shared_buffer.put', params = {}) =>
    posts.serve({
      request: { headers: { accept: 'application/json' } } as IncomingMessage,
      response: new FakeResponse().asResponse,
      principal: { ...LOCAL_PRINCIPAL, id: caller },
      url: new URL('http://gateway/rpc'),
      body: request(1, method, params),
      bytes,
      seen: startRequest(),
      detach: () => {},
    });
  return { begun, send };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('large requests to the coordination plane', () => {
  it('are served one after the other for each caller, in order', async () => {
    const { begun, send } = openPosts();
    const all = [send('a', LARGE), send('a', LARGE), send('a', LARGE), send('b', LARGE)];
    await turn();
    expect(begun.map(({ caller }) => caller)).toEqual(['a', 'b']);
    for (let n = 0; n < 4; n += 1) {
      begun[n]?.answer();
      await turn();
    }
    await Promise.all(all);
    expect(begun).toHaveLength(4);
  });

  it('do not keep small ones waiting', async () => {
    const { begun, send } = openPosts();
    void send('a', LARGE);
    void send('a', 100);
    await turn();
    expect(begun).toHaveLength(2);
  });

  it('do not wait for one that waits for a lock', async () => {
    const { begun, send } = openPosts();
    void send('a', LARGE, 'memory_locker.acquire', { wait_ms: 1_000 });
    void send('a', LARGE);
    await turn();
    expect(begun).toHaveLength(2);
  });
});
