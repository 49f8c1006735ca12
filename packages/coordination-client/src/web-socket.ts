import { WebSocket } from 'ws';
import type { Connect, Transport } from './link.ts';
import { failure } from './reasons.ts';

export interface WebSocketOptions {
  /** Such as `ws://127.0.0.1:7420/rpc/ws`. */
  readonly url: string;
  readonly key?: string | undefined;
  readonly maxMessageBytes?: number | undefined;
}

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
const CONNECT_MS = 10_000;
/** As `ws` says that a message is over `maxPayload`. */
const TOO_LARGE = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';

export function webSocketConnect(options: WebSocketOptions): Connect {
  return (signal) => openWebSocket(options, signal);
}

async function openWebSocket(options: WebSocketOptions, signal: AbortSignal): Promise<Transport> {
  const { url } = options;
  const socket = createSocket(options);
  const giveUp = () => socket.terminate();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await new Promise((resolve, reject) => {
      socket.once('unexpected-response', (request, { statusCode = 0, headers }) => {
        reject(refusedFailure(url, statusCode, headers['retry-after']));
        request.destroy();
      });
      socket.on('error', (cause) => {
        reject(signal.aborted ? signal.reason : failure('unreachable', { url }, { cause }));
      });
      socket.once('open', () => resolve(toTransport(socket)));
    });
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

function createSocket({ url, key, maxMessageBytes }: WebSocketOptions): WebSocket {
  try {
    return new WebSocket(url, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      maxPayload: maxMessageBytes ?? MAX_MESSAGE_BYTES,
      handshakeTimeout: CONNECT_MS,
      perMessageDeflate: false,
    });
  } catch (cause) {
    throw failure('bad_address', { url }, { cause });
  }
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
  let isTooLarge = false;
  socket.on('error', (error) => {
    isTooLarge = 'code' in error && error.code === TOO_LARGE;
    socket.terminate();
  });
  socket.once('close', (code) => transport.onclose?.(isTooLarge ? 'answer_too_large' : code));
  return transport;
}

function refusedFailure(url: string, status: number, retryAfter: string | undefined) {
  const row = `refused/${status}`;
  const retry_after_ms = Number(retryAfter) * 1_000;
  return failure(isRow(row) ? row : 'refused/other', {
    url,
    status,
    ...(retry_after_ms > 0 && { retry_after_ms }),
  });
}

function isRow(name: string): name is keyof typeof failure.rows & `refused/${string}` {
  return Object.hasOwn(failure.rows, name);
}
