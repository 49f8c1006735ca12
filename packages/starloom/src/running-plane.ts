// The coordination plane of a gateway that runs already, for a client that has only pipes.

import { once } from 'node:events';
import type { FabricError } from '@starloom/core';
import type { MessageChannel } from '@starloom/gateway';
import { settlesWithin, toRefusal } from '@starloom/wire';
import { WebSocket } from 'ws';
import { readAddress, unreachable } from './gateway-client.ts';
import type { Terminal } from './terminal.ts';

const CONNECT_MS = 5_000;
const BUFFERED_MAX = 1 << 20;
/** How long answers that are still owed may hold up the end. */
const FAREWELL_MS = 2_000;

/** Nothing when none answers, unless the environment names one: then that is a failure. */
export async function connectToPlane({ env }: Terminal): Promise<WebSocket | undefined> {
  const { url, headers } = await readAddress(env);
  if (url === undefined) return undefined;
  const address = new URL('/rpc/ws', url);
  const socket = new WebSocket(address, { headers, handshakeTimeout: CONNECT_MS });
  try {
    await once(socket, 'open');
    return socket;
  } catch (error) {
    if (env.STARLOOM_URL === undefined) return undefined;
    throw unreachable(`No gateway takes us at ${url}`, error);
  }
}

/** Messages pass as they are, both ways, until the client is gone and was answered. */
export async function passOn(channel: MessageChannel, socket: WebSocket): Promise<void> {
  const answers = new Answers();
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const lost = once(socket, 'close').then(() => 'lost' as const);
  socket.on('error', () => {});
  socket.on('message', async (data) => {
    const text = data.toString();
    await giveInTurn(channel, socket, text).catch(() => leave());
    if (isAnswer(text)) answers.came();
  });
  channel.open((incoming) => {
    if (typeof incoming !== 'string') return void channel.write(toRefusalText(incoming));
    if (wantsAnswer(incoming)) answers.expect();
    return send(socket, incoming);
  }, leave);
  if ((await Promise.race([left, lost])) === 'lost') {
    await channel.close();
    throw unreachable('The gateway is gone', undefined);
  }
  await settlesWithin(Promise.race([answers.all(), lost]), FAREWELL_MS);
  socket.close(1000);
  if (!(await settlesWithin(lost, FAREWELL_MS))) socket.terminate();
}

/** Nothing when there is room for the next, else a promise of it. */
function send(socket: WebSocket, text: string): Promise<void> | undefined {
  const sent = Promise.withResolvers<void>();
  socket.send(text, () => sent.resolve());
  return socket.bufferedAmount > BUFFERED_MAX ? sent.promise : undefined;
}

/** Nothing is read from the gateway that the client has no room for. Rejects when it is gone. */
async function giveInTurn(channel: MessageChannel, socket: WebSocket, text: string): Promise<void> {
  socket.pause();
  try {
    await channel.write(text);
  } finally {
    socket.resume();
  }
}

/** Those that the client waits for. */
class Answers {
  #missing = 0;
  readonly #none = Promise.withResolvers<void>();
  #isLast = false;

  expect(): void {
    this.#missing += 1;
  }

  came(): void {
    this.#missing -= 1;
    if (this.#isLast && this.#missing <= 0) this.#none.resolve();
  }

  /** No more are expected: resolves when all came. */
  all(): Promise<void> {
    this.#isLast = true;
    if (this.#missing <= 0) this.#none.resolve();
    return this.#none.promise;
  }
}

function toRefusalText(error: FabricError): string {
  return toRefusal(error, null, 'details').body;
}

/** What is no JSON is answered too: with what is wrong. */
function wantsAnswer(text: string): boolean {
  const messages = parse(text);
  return messages === undefined || messages.some((message) => 'id' in message);
}

function isAnswer(text: string): boolean {
  return !parse(text)?.some((message) => 'method' in message);
}

function parse(text: string): object[] | undefined {
  try {
    return [JSON.parse(text)].flat().filter((each) => typeof each === 'object' && each !== null);
  } catch {
    return undefined;
  }
}
