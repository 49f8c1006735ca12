import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

export interface Asked {
  readonly id: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The how many-th connection it came over. */
  readonly connection: number;
}

/** The fields of the answer, `result` or `error`; `undefined` leaves it unanswered. */
type Answer = (asked: Asked) => object | undefined;

export interface FakeGatewayOptions {
  readonly port?: number;
  readonly maxPayload?: number;
  readonly heartbeatIntervalMs?: number;
}

/** A gateway that answers whatever a test wants. */
export class FakeGateway implements AsyncDisposable {
  readonly asked: Asked[] = [];
  readonly answers: Record<string, Answer>;
  readonly #server: WebSocketServer;
  connections = 0;

  private constructor(server: WebSocketServer, heartbeat_interval_ms: number) {
    this.#server = server;
    this.answers = {
      'agent_registry.register': () => ({ result: { epoch: 1, heartbeat_interval_ms } }),
      'agent_registry.heartbeat': () => ({ result: { status: 'active' } }),
      'mcp.status': () => ({ result: { fine: true } }),
    };
    server.on('connection', (socket) => this.#serve(socket));
  }

  static async open(options: FakeGatewayOptions = {}): Promise<FakeGateway> {
    const { port = 0, maxPayload = 1_000_000, heartbeatIntervalMs = 30_000 } = options;
    const server = new WebSocketServer({ host: '127.0.0.1', port, maxPayload });
    await once(server, 'listening');
    return new FakeGateway(server, heartbeatIntervalMs);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}/rpc/ws`;
  }

  /** The requests of a method. */
  of(method: string): readonly Asked[] {
    return this.asked.filter((asked) => asked.method === method);
  }

  say(message: object): void {
    for (const socket of this.#server.clients) {
      socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
    }
  }

  cut(code?: number): void {
    for (const socket of this.#server.clients) {
      if (code === undefined) socket.terminate();
      else socket.close(code);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: WebSocket): void {
    this.connections += 1;
    const connection = this.connections;
    socket.on('error', () => {});
    socket.on('message', (data) => {
      const asked: Asked = { ...JSON.parse(data.toString()), connection };
      this.asked.push(asked);
      const answer = this.answers[asked.method]?.(asked);
      if (answer) socket.send(JSON.stringify({ jsonrpc: '2.0', id: asked.id, ...answer }));
    });
  }
}

export function refusal(code: number, data: object = {}) {
  return { error: { code, message: 'refused', data } };
}
