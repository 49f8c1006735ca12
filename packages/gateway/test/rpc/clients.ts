// Clients of the coordination plane that show the bare wire.

import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { silentLog } from '@starloom/core';
import { LOCAL_PRINCIPAL } from '@starloom/identity';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import { serveRpcChannel, stdioChannel } from '../../src/index.ts';
import type { CoordinationWorld } from '../coordination-world.ts';
import { bearer } from '../message-clients.ts';
import { startRequest } from '../observe/support/observed.ts';
import { KEY } from '../test-gateway.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read into messages freely
export type Message = any;

export function request(id: unknown, method: string, params: object = {}) {
  return { jsonrpc: '2.0', id, method, params };
}

export async function post(
  url: string,
  message: unknown,
  { accept = 'application/json', signal }: { accept?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  return await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', accept },
    body: typeof message === 'string' ? message : JSON.stringify(message),
    ...(signal && { signal }),
  });
}

/** A connection that has everything it was sent, in order. */
export interface Wire extends Disposable {
  readonly received: Message[];
  send(text: string | Uint8Array): void;
}

export async function openSocket(url: string, path = '/rpc/ws') {
  const socket = new WebSocket(url.replace('http', 'ws') + path, ['mcp', bearer]);
  const received: Message[] = [];
  socket.on('message', (data) => received.push(JSON.parse(data.toString())));
  await once(socket, 'open');
  return {
    socket,
    received,
    send: (text: string | Uint8Array) => socket.send(text),
    [Symbol.dispose]: () => socket.terminate(),
  };
}

/** A client on a pair of pipes, as `starloom rpc --stdio` serves one. */
export function openPipes({ coordination }: CoordinationWorld, maxLineBytes = 65_536) {
  const { input, output, received } = pipes();
  const channel = stdioChannel({ input, output, maxLineBytes, log: silentLog });
  const principal = { ...LOCAL_PRINCIPAL, id: 'tester' };
  const served = serveRpcChannel(channel, {
    coordination,
    principal,
    log: silentLog,
    observe: startRequest,
  });
  return {
    received,
    served,
    send: (text: string | Uint8Array) => {
      input.write(text);
      input.write('\n');
    },
    [Symbol.dispose]: () => void input.end(),
  };
}

export function pipes() {
  const input = new PassThrough();
  const output = new PassThrough();
  const received: Message[] = [];
  let rest = '';
  output.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    received.push(...lines.map((line) => JSON.parse(line)));
  });
  return { input, output, received };
}

/** A session whose lock agent `a` holds and that `b` is a member of. */
export async function openLocked(world: CoordinationWorld) {
  const a = { session_id: 's', agent_id: 'a' };
  await world.act('session_manager.create', a);
  await world.act('session_manager.join', { session_id: 's', agent_id: 'b' });
  const { lock_token } = await world.act('memory_locker.acquire', { ...a, ttl_ms: 60_000 });
  const status = () => world.act('memory_locker.status', a);
  const waiters = async () => (await status()).waiting as unknown[];
  return {
    acquire: { session_id: 's', agent_id: 'b', wait_ms: 20_000 },
    waiters,
    untilWaiting: () => expect.poll(waiters, { timeout: 15_000 }).toHaveLength(1),
    release: () => world.act('memory_locker.release', { ...a, lock_token }),
    isLocked: async () => (await status()).locked,
  };
}
