import { FabricError } from '@starloom/core';
import { WebSocket } from 'ws';
import type { Connect, Transport } from './transport.ts';

export interface WebSocketOptions {
  /** Such as `ws://127.0.0.1:7420/rpc/ws`. */
  readonly url: string;
  readonly key?: string | undefined;
  readonly maxMessageBytes?: number | undefined;
  readonly connectMs?: number | undefined;
}

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
const CONNECT_MS = 10_000;

export function webSocketConnect(options: WebSocketOptions): Connect {
  return () => openWebSocket(options);
}

function openWebSocket({
  url,
  key,
  maxMessageBytes = MAX_MESSAGE_BYTES,
  connectMs = CONNECT_MS,
}: WebSocketOptions): Promise<Transport> {
  const socket = new WebSocket(url, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    maxPayload: maxMessageBytes,
    handshakeTimeout: connectMs,
    perMessageDeflate: false,
  });
  return new Promise((resolve, reject) => {
    let denied: FabricError | undefined;
    socket.once('unexpected-response', (request, response) => {
      denied = refused(url, response.statusCode ?? 0);
      request.destroy();
      reject(denied);
    });
    socket.once('error', (cause) => reject(denied ?? unreachable(url, cause)));
    socket.once('open', () => resolve(toTransport(socket)));
  });
}

function toTransport(socket: WebSocket): Transport {
  const transport: Transport = {
    onmessage: undefined,
    onclose: undefined,
    send(text) {
      if (socket.readyState === WebSocket.OPEN) socket.send(text, () => {});
    },
    close() {
      socket.terminate();
    },
  };
  socket.on('message', (data) => transport.onmessage?.(data.toString()));
  socket.on('error', () => socket.terminate());
  socket.once('close', () => transport.onclose?.());
  return transport;
}

function refused(url: string, status: number): FabricError {
  const code = status === 401 || status === 403 ? 'AUTH_DENIED' : 'AGENT_OFFLINE';
  return new FabricError(code, `The gateway answered ${status}`, {
    details: { url, status, fix: 'check the address, and the key that is sent' },
  });
}

function unreachable(url: string, cause: Error): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The gateway cannot be reached', {
    details: { url, fix: 'see whether it runs, and whether the address is right' },
    cause,
  });
}
