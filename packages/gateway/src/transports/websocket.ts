// MCP over WebSocket: one text frame is one message, otherwise as over stdio. A custom transport in
// the sense of the specification: see docs/transports.md.

import type { Socket } from 'node:net';
import { FabricError } from '@starloom/core';
import { WebSocket, WebSocketServer } from 'ws';
import type { Upgrade } from './http.ts';
import type { MessageChannel } from './message-transport.ts';
import { toTextFrame } from './text-frame.ts';

export interface WebSocketOptions {
  readonly maxMessageBytes: number;
  readonly keepAliveMs?: number;
}

const SUBPROTOCOL = 'mcp';
const BUFFERED_MAX = 1 << 20;

/** Turns checked upgrades into channels. */
export class WebSocketTransport {
  readonly #server: WebSocketServer;
  readonly #keepAliveMs: number;

  constructor({ maxMessageBytes, keepAliveMs = 30_000 }: WebSocketOptions) {
    this.#keepAliveMs = keepAliveMs;
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: maxMessageBytes,
      perMessageDeflate: false,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
  }

  accept({ request, socket, head }: Upgrade, serve: (channel: MessageChannel) => void): void {
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      keepAlive(webSocket, this.#keepAliveMs);
      serve(toChannel(webSocket, socket));
    });
  }

  /** Tells every client that the gateway goes away. */
  close(): void {
    for (const client of this.#server.clients) client.close(1001, 'the gateway is shutting down');
    this.#server.close();
  }
}

/** Frames of ours go past `ws`; it neither compresses nor splits, so whole frames may take turns. */
function toChannel(webSocket: WebSocket, socket: Socket): MessageChannel {
  return {
    open(onText, onClose) {
      webSocket.on('message', (data, isBinary) => {
        if (isBinary) webSocket.close(1003, 'text frames only');
        else onText(data.toString());
      });
      webSocket.once('close', onClose);
      // `ws` says why with its close frame, and ends the connection if the client does not.
      webSocket.on('error', () => {});
    },
    write(text) {
      if (webSocket.readyState !== WebSocket.OPEN) throw gone();
      const frame = toTextFrame(text);
      if (socket.writableLength + frame.length <= BUFFERED_MAX) return void socket.write(frame);
      return new Promise((resolve, reject) => {
        socket.write(frame, (error) => (error ? reject(gone(error)) : resolve()));
      });
    },
    async close() {
      webSocket.close(1000);
    },
  };
}

/** Ends a connection whose other side does not answer two pings in a row. */
function keepAlive(webSocket: WebSocket, everyMs: number): void {
  let silent = 0;
  const timer = setInterval(() => {
    silent += 1;
    if (silent > 2) return webSocket.terminate();
    webSocket.ping();
  }, everyMs).unref();
  webSocket.on('pong', () => {
    silent = 0;
  });
  webSocket.once('close', () => clearInterval(timer));
}

function gone(cause?: Error): FabricError {
  return new FabricError('CANCELLED', 'The client is gone', { cause });
}
