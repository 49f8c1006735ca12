import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { FabricError } from '@starloom/core';
import { createFrameReader, PING, PONG, TEXT, toFrame } from './frames.ts';

export interface GatewayAddress {
  /** Of `/rpc/ws`, as `http:`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface RpcRequest {
  readonly method: string;
  readonly params: object;
}

export type Fields = Readonly<Record<string, unknown>>;

const HEAD_END = '\r\n\r\n';

/** For all sockets: what is read is looked at before anything else is. */
const READ_INTO = Buffer.alloc(1 << 16);

class Input {
  onBytes: (bytes: Buffer, length: number) => void = () => {};

  take(count: number): boolean {
    this.onBytes(READ_INTO, count);
    return true;
  }
}

/** A plain socket to a gateway that has become a WebSocket. */
export class Connection implements Disposable {
  readonly #socket: Socket;
  /** Every message that comes; whoever needs them sets it. */
  onText: (payload: Buffer) => void = () => {};
  /** The other side is gone, or says nothing. */
  onLost: (why: string) => void = () => {};

  static async open(address: GatewayAddress): Promise<Connection> {
    const url = new URL(address.url);
    const input = new Input();
    const socket = connect({
      host: url.hostname,
      port: Number(url.port),
      noDelay: true,
      onread: { buffer: READ_INTO, callback: (count) => input.take(count) },
    });
    socket.write(upgradeRequest(url, address.headers));
    const head = await readHead(socket, input);
    const end = head.indexOf(HEAD_END) + HEAD_END.length;
    if (head.toString('latin1', 0, end).startsWith('HTTP/1.1 101 ')) {
      return new Connection(socket, input, head.subarray(end));
    }
    socket.destroy();
    throw new FabricError('UPSTREAM_ERROR', 'The gateway takes no WebSocket', {
      details: { url: address.url, answer: head.toString('utf8', 0, 500) },
    });
  }

  private constructor(socket: Socket, input: Input, first: Buffer) {
    this.#socket = socket;
    const read = createFrameReader((opcode, payload) => {
      if (opcode === TEXT) this.onText(payload);
      else if (opcode === PING) socket.write(toFrame(PONG, payload));
    });
    read(first, first.length);
    input.onBytes = read;
    socket.on('error', (error) => this.onLost(error.message));
    socket.on('close', () => this.onLost('the connection was closed'));
  }

  send(frame: Buffer): void {
    this.#socket.write(frame);
  }

  /** Before anything else is under way: the next message is taken for the answer. */
  async ask({ method, params }: RpcRequest): Promise<Fields> {
    const { promise, resolve, reject } = Promise.withResolvers<Fields>();
    this.onText = (payload) => resolve(JSON.parse(payload.toString()) as Fields);
    this.onLost = (why) => reject(new FabricError('UPSTREAM_ERROR', `No answer: ${why}`));
    this.send(toFrame(TEXT, JSON.stringify({ jsonrpc: '2.0', id: 'ask', method, params })));
    const { result, error } = await promise;
    if (typeof result === 'object' && result !== null) return result as Fields;
    throw new FabricError('UPSTREAM_ERROR', `${method} was refused`, { details: { error } });
  }

  [Symbol.dispose](): void {
    this.onLost = () => {};
    this.#socket.destroy();
  }
}

function readHead(socket: Socket, input: Input): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let head = Buffer.alloc(0);
  input.onBytes = (bytes, length) => {
    head = Buffer.concat([head, bytes.subarray(0, length)]);
    if (head.includes(HEAD_END)) resolve(head);
  };
  socket.once('error', reject);
  socket.once('close', () => reject(new FabricError('UPSTREAM_ERROR', 'Closed at once')));
  return promise;
}

function upgradeRequest({ pathname, host }: URL, headers: GatewayAddress['headers']): string {
  const fields = {
    host,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': randomBytes(16).toString('base64'),
    'sec-websocket-protocol': 'mcp',
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n`;
}
