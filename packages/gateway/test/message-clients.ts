// MCP clients over a WebSocket and over a pair of pipes.

import { PassThrough } from 'node:stream';
import { Client, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client';
import { WebSocket } from 'ws';
import { KEY } from './test-gateway.ts';

/** The subprotocol that carries the key. */
export const bearer = toBearer(KEY);

export function toBearer(key: string): string {
  return `bearer.${Buffer.from(key).toString('base64url')}`;
}

/** One message per frame; answers wait a turn so that progress before them is not lost. */
export class SocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly socket: WebSocket;

  constructor(url: string, protocols: string[], headers = {}) {
    this.socket = new WebSocket(url, protocols, { headers });
  }

  async start() {
    await new Promise((resolve, reject) => {
      this.socket.once('open', resolve);
      this.socket.once('error', reject);
    });
    this.socket.on('message', (data) => {
      setImmediate(() => this.onmessage?.(JSON.parse(data.toString())));
    });
    this.socket.once('close', () => this.onclose?.());
  }

  async send(message: JSONRPCMessage) {
    this.socket.send(JSON.stringify(message));
  }

  async close() {
    this.socket.close();
  }
}

/** The client's end of a pair of pipes. */
export class PipeTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly toServer = new PassThrough();
  readonly fromServer = new PassThrough();
  #rest = '';

  async start() {
    this.fromServer.on('data', (chunk: Buffer) => {
      const lines = (this.#rest + chunk.toString()).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) setImmediate(() => this.onmessage?.(JSON.parse(line)));
    });
  }

  async send(message: JSONRPCMessage) {
    this.toServer.write(`${JSON.stringify(message)}\n`);
  }

  async close() {
    this.toServer.end();
    this.onclose?.();
  }
}

export async function open(transport: Transport, mode: 'auto' | 'legacy') {
  const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return client;
}
