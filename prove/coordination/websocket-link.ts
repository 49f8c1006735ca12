import { WebSocket } from 'ws';
import { type Answer, isFields, type Link, type OpenLink, toAnswer } from './link.ts';

export interface WebSocketAddress {
  readonly url: string;
  readonly key: string;
  /** Without an answer by then, the connection counts as dead. */
  readonly timeoutMs: number;
}

/** Through the front door of a gateway. */
export function openWebSocketLink({ url, key, timeoutMs }: WebSocketAddress): OpenLink {
  const credential = `bearer.${Buffer.from(key).toString('base64url')}`;
  return async (onPush) => {
    const socket = new WebSocket(url, ['mcp', credential], { handshakeTimeout: timeoutMs });
    const pending = new Map<number, (answer: Answer) => void>();
    let last = 0;
    const giveUp = (why: string) => {
      socket.terminate();
      for (const answer of pending.values()) answer({ kind: 'unknown', why });
      pending.clear();
    };
    socket.on('message', (data) => {
      const message: unknown = JSON.parse(data.toString());
      if (!isFields(message) || socket.readyState !== WebSocket.OPEN) return;
      if (typeof message.method === 'string') {
        return onPush(message.method, isFields(message.params) ? message.params : {});
      }
      const id = Number(message.id);
      pending.get(id)?.(toAnswer(message));
      pending.delete(id);
    });
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    const stopBeating = beat(socket, timeoutMs, () => giveUp('connection hangs'));
    socket.on('error', () => giveUp('connection failed'));
    socket.on('close', () => {
      stopBeating();
      giveUp('connection closed');
    });
    const link: Link = {
      get isOpen() {
        return socket.readyState === WebSocket.OPEN;
      },
      async request(method, params) {
        if (socket.readyState !== WebSocket.OPEN) return { kind: 'unknown', why: 'closed' };
        last += 1;
        const id = last;
        const { promise, resolve } = Promise.withResolvers<Answer>();
        pending.set(id, resolve);
        const timer = setTimeout(() => giveUp('no answer in time'), timeoutMs);
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
        return await promise.finally(() => clearTimeout(timer));
      },
      close: () => giveUp('closed'),
    };
    return link;
  };
}

/** Who only listens would not notice a half-open connection: nothing comes, and nothing is missed. */
function beat(socket: WebSocket, everyMs: number, onSilence: () => void): () => void {
  let isHeard = true;
  socket.on('pong', () => {
    isHeard = true;
  });
  const timer = setInterval(() => {
    if (!isHeard) return onSilence();
    isHeard = false;
    socket.ping();
  }, everyMs);
  return () => clearInterval(timer);
}
