// Clients of the coordination plane as others write them, one for each way in: nothing of ours but
// the bytes on the wire.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childEnvironment, readSse, spawnProcess } from '@starloom/wire';
import { WebSocket } from 'ws';
import { LAUNCHER } from '../../packages/starloom/test/run-starloom.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read into messages freely
export type Message = any;

export interface RpcClient extends AsyncDisposable {
  /** The whole answer to one request. */
  ask(method: string, params?: object): Promise<Message>;
  /** Asks for updates of a session, as this client gets them. */
  subscribe(session_id: string, agent_id: string): Promise<Message>;
  /** Notifications so far. */
  readonly pushed: readonly Message[];
}

export interface Place {
  readonly url: string;
  readonly key: string;
}

/** The gateway that `starloom up` runs in this state folder. */
export async function placeOf(home: string): Promise<Place> {
  return JSON.parse(await readFile(join(home, 'client.json'), 'utf8'));
}

export async function post({ url, key }: Place, body: unknown, path = '/rpc'): Promise<Message> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return text === '' ? undefined : JSON.parse(text);
}

/** POST for requests, and a stream of events per subscription. */
export async function byHttp(place: Place): Promise<RpcClient> {
  const pushed: Message[] = [];
  const leave = new AbortController();
  const readers: Promise<void>[] = [];
  const subscribe = async (session_id: string, agent_id: string) => {
    const method = 'context_coordinator.subscribe';
    const response = await fetch(`${place.url}/rpc`, {
      method: 'POST',
      signal: leave.signal,
      headers: {
        authorization: `Bearer ${place.key}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify(request(1, method, { session_id, agent_id })),
    });
    const answered = Promise.withResolvers<Message>();
    const read = async () => {
      const body = response.body as AsyncIterable<Uint8Array>;
      for await (const { data } of readSse(body, { maxEventBytes: 1 << 20 })) {
        const message = JSON.parse(data);
        if ('id' in message) answered.resolve(message);
        else pushed.push(message);
      }
    };
    readers.push(read().catch(answered.reject));
    return await answered.promise;
  };
  return {
    pushed,
    ask: (method, params) => post(place, request(1, method, params)),
    subscribe,
    [Symbol.asyncDispose]: async () => {
      leave.abort();
      await Promise.all(readers);
    },
  };
}

export async function byWebSocket({ url, key }: Place): Promise<RpcClient> {
  const protocol = `bearer.${Buffer.from(key).toString('base64url')}`;
  const socket = new WebSocket(`${url.replace('http', 'ws')}/rpc/ws`, ['mcp', protocol]);
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  const dialogue = new Dialogue((text) => socket.send(text));
  socket.on('message', (data) => dialogue.receive(data.toString()));
  return dialogue.client(async () => socket.terminate());
}

/** `starloom rpc --stdio` as an agent starts it. */
export async function byStdio(folder: string, home: string): Promise<RpcClient> {
  const child = await spawnProcess({
    command: process.execPath,
    args: [LAUNCHER, 'rpc', '--stdio'],
    cwd: folder,
    env: childEnvironment({ extra: { STARLOOM_HOME: home } }),
  });
  const dialogue = new Dialogue((text) => child.stdin.write(`${text}\n`));
  const read = async () => {
    for await (const line of child.lines()) dialogue.receive(line);
  };
  const reading = read();
  return dialogue.client(async () => {
    child.stdin.end();
    await reading;
    await child.stop();
  });
}

/** Messages over a connection that stays open: answers by id, and everything that is pushed. */
class Dialogue {
  readonly #send: (text: string) => void;
  readonly #pushed: Message[] = [];
  readonly #waiting = new Map<number, (message: Message) => void>();
  #id = 0;

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  receive(text: string): void {
    const message = JSON.parse(text);
    if ('id' in message) this.#waiting.get(message.id)?.(message);
    else this.#pushed.push(message);
  }

  client(close: () => Promise<void>): RpcClient {
    const ask = (method: string, params?: object) =>
      new Promise<Message>((resolve) => {
        this.#id += 1;
        this.#waiting.set(this.#id, resolve);
        this.#send(JSON.stringify(request(this.#id, method, params)));
      });
    return {
      ask,
      pushed: this.#pushed,
      subscribe: (session_id, agent_id) =>
        ask('context_coordinator.subscribe', { session_id, agent_id }),
      [Symbol.asyncDispose]: close,
    };
  }
}

function request(id: number, method: string, params?: object) {
  return { jsonrpc: '2.0', id, method, ...(params && { params }) };
}
