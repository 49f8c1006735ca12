// MCP over WebSocket: one text frame is one message, otherwise as over stdio. A custom transport in
// the sense of the specification: see docs/transports.md.

import { once } from 'node:events';
import type { Socket } from 'node:net';
import { atTurnEnd, settlesWithin } from '@starloom/wire';
import { WebSocket, WebSocketServer } from 'ws';
import { failure } from '../reasons.ts';
import type { MessageChannel } from './message-channel.ts';
import type { HeldBytes } from './reply.ts';
import type { Upgrade } from './routes.ts';

interface WebSocketOptions {
  readonly maxMessageBytes: number;
  readonly held?: Pick<HeldBytes, 'written'> | undefined;
  readonly keepAliveMs?: number;
}

const SUBPROTOCOL = 'mcp';
const MAX_BUFFERED = 1 << 20;
const PINGS_PER_SECOND = 100;
/** A client that sends too many is cut off after so long, in which nothing of it is read: it cannot come back at once. */
const CUT_OFF_MS = 1_000;
/** How long a client may take to answer a close; one that does not read never does. */
const FAREWELL_MS = 2_000;

/** Turns checked upgrades into channels. */
export class WebSocketTransport {
  readonly #server: WebSocketServer;
  readonly #keepAliveMs: number;
  readonly #held: WebSocketOptions['held'];

  constructor({ maxMessageBytes, held, keepAliveMs = 30_000 }: WebSocketOptions) {
    this.#held = held;
    this.#keepAliveMs = keepAliveMs;
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: maxMessageBytes,
      perMessageDeflate: false,
      autoPong: false,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
  }

  accept(
    { request, socket, head, principal }: Upgrade,
    serve: (channel: MessageChannel) => void,
  ): void {
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      keepAlive(webSocket, socket, this.#keepAliveMs);
      answerPings(webSocket, socket);
      const onWritten = () => this.#held?.written(principal.id, socket);
      serve(toChannel(webSocket, socket, onWritten));
    });
  }

  /** Notifies every client that the gateway goes away; resolves when they are gone. */
  async close(): Promise<void> {
    const gone = Array.from(this.#server.clients, (client) => once(client, 'close'));
    for (const client of this.#server.clients) end(client, 1001, 'the gateway is shutting down');
    this.#server.close();
    await settlesWithin(Promise.all(gone), FAREWELL_MS);
    for (const client of this.#server.clients) client.terminate();
  }
}

/** Frames of ours go past `ws`; it neither compresses nor splits, so whole frames may take turns. */
function toChannel(webSocket: WebSocket, socket: Socket, onWritten: () => void): MessageChannel {
  return {
    open(onText, onClose) {
      const hold = holdBack(webSocket);
      webSocket.on('message', (data, isBinary) => {
        if (webSocket.readyState !== WebSocket.OPEN) return;
        if (isBinary) return end(webSocket, 1003, 'text frames only');
        const room = onText(data.toString());
        if (room) hold(room);
      });
      webSocket.once('close', onClose);
      // `ws` says why with its close frame, and ends the connection if the client does not.
      webSocket.on('error', () => {});
    },
    write(text) {
      if (webSocket.readyState !== WebSocket.OPEN) throw failure('client_gone');
      const frame = toTextFrame(text);
      if (socket.writableLength + frame.length <= MAX_BUFFERED) return void socket.write(frame);
      return new Promise((resolve, reject) => {
        socket.write(frame, (error) =>
          error ? reject(failure('client_gone', {}, { cause: error })) : resolve(),
        );
        onWritten();
      });
    },
    flushed: () => untilWritten(socket),
    async close() {
      end(webSocket, 1000);
    },
  };
}

/** The callback of a write comes after all that was written before it. */
function untilWritten(socket: Socket): Promise<void> {
  if (socket.destroyed || socket.writableLength === 0) return Promise.resolve();
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
    socket.write('', () => resolve());
  });
}

/** Reads nothing more until all that it was given is settled. */
function holdBack(webSocket: WebSocket): (room: Promise<void>) => void {
  const held = new Set<Promise<void>>();
  return (room) => {
    if (held.has(room)) return;
    held.add(room);
    webSocket.pause();
    void room.then(() => {
      held.delete(room);
      if (held.size === 0) webSocket.resume();
    });
  };
}

/** Its own close frame is read, also when nothing else was any more. */
function end(webSocket: WebSocket, code: number, reason?: string): void {
  webSocket.close(code, reason);
  webSocket.resume();
}

/**
 * A client that floods us with pings is cut off: each costs work, and an unread pong memory. Of pings that came
 * together the last one is answered, for all of them (RFC 6455, section 5.5.3).
 */
function answerPings(webSocket: WebSocket, socket: Socket): void {
  let since = performance.now();
  let pings = 0;
  let latest: Buffer | undefined;
  const answer = () => {
    const data = latest;
    latest = undefined;
    if (webSocket.readyState === WebSocket.OPEN) webSocket.pong(data);
  };
  const onPing = (data: Buffer) => {
    const now = performance.now();
    if (now - since > 1_000) {
      since = now;
      pings = 0;
    }
    pings += 1;
    const isFlood = pings > PINGS_PER_SECOND || socket.writableLength > MAX_BUFFERED;
    if (isFlood) {
      // Thousands more may have been read already.
      webSocket.off('ping', onPing).pause();
      setTimeout(() => webSocket.terminate(), CUT_OFF_MS).unref();
      return;
    }
    if (latest === undefined) atTurnEnd(answer);
    latest = data;
  };
  webSocket.on('ping', onPing);
}

/**
 * Ends a connection whose other side does not answer two pings in a row. While nothing is read, so no
 * answer either, it lives as long as it takes what we write; if there is nothing to take, it is we
 * who are behind.
 */
function keepAlive(webSocket: WebSocket, socket: Socket, everyMs: number): void {
  let silent = 0;
  let taken = 0;
  const timer = setInterval(() => {
    const takenBefore = taken;
    taken = socket.bytesWritten - socket.writableLength;
    const hasTaken = socket.writableLength === 0 || taken > takenBefore;
    if (webSocket.isPaused && hasTaken) silent = 0;
    silent += 1;
    if (silent > 2) return webSocket.terminate();
    webSocket.ping();
  }, everyMs).unref();
  webSocket.on('pong', () => {
    silent = 0;
  });
  webSocket.once('close', () => clearInterval(timer));
}

const FINAL_TEXT = 0x81;
const FINAL_CLOSE = 0x88;
const TWO_BYTES = 126;
const EIGHT_BYTES = 127;

let latest: { readonly text: string; readonly frame: Buffer } | undefined;

/**
 * A text as one whole WebSocket frame of a server (RFC 6455: final, unmasked). In one buffer it
 * costs one plain write, where `ws` writes header and text apart; that shows when thousands receive
 * it. They receive the same text one after the other, so the latest frame is kept; no caller may
 * change it.
 */
export function toTextFrame(text: string): Buffer {
  if (text !== latest?.text) latest = { text, frame: encode(text) };
  return latest.frame;
}

/** The frame that ends a connection; the reason has at most 123 bytes. */
export function toCloseFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason).subarray(0, 123);
  return Buffer.concat([Buffer.from([FINAL_CLOSE, 2 + text.length, code >> 8, code & 0xff]), text]);
}

function encode(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const begin = length < TWO_BYTES ? 2 : length <= 0xffff ? 4 : 10;
  const frame = Buffer.allocUnsafe(begin + length);
  frame[0] = FINAL_TEXT;
  if (begin === 2) frame[1] = length;
  else if (begin === 4) {
    frame[1] = TWO_BYTES;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = EIGHT_BYTES;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, begin);
  return frame;
}
