// A wire that can be cut, slowed down or left hanging. Its port stays while its target may change.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

const HOST = '127.0.0.1';

export class TcpProxy implements AsyncDisposable {
  readonly port: number;
  target: number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #delayMs = 0;

  static async open(target: number): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: false });
    server.listen(0, HOST);
    await once(server, 'listening');
    return new TcpProxy(server, target);
  }

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.target = target;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client) => this.#accept(client));
  }

  /** Ends all connections without a word to either side's program. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
  }

  /** The connections there are stay open and carry nothing any more; new ones work. */
  hang(): void {
    for (const { client, server } of this.#pairs) {
      for (const socket of [client, server]) socket.removeAllListeners('data').pause();
    }
  }

  delay(milliseconds: number): void {
    this.#delayMs = milliseconds;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
  }

  #accept(client: Socket): void {
    const server = connect(this.target, HOST);
    const pair = { client, server };
    this.#pairs.add(pair);
    this.#carry(client, server);
    this.#carry(server, client);
    for (const socket of [client, server]) {
      socket.setNoDelay(true).on('error', () => {});
      socket.once('close', () => {
        this.#pairs.delete(pair);
        client.destroy();
        server.destroy();
      });
    }
  }

  /** In order: what came while it was slow is not overtaken by what came after. */
  #carry(from: Socket, to: Socket): void {
    let turn: Promise<void> | undefined;
    from.on('data', (chunk) => {
      if (this.#delayMs === 0 && turn === undefined) {
        to.write(chunk);
        return;
      }
      const due = performance.now() + this.#delayMs;
      const sent = (turn ?? Promise.resolve()).then(async () => {
        const left = due - performance.now();
        if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
        to.write(chunk);
      });
      turn = sent;
      void sent.then(() => {
        if (turn === sent) turn = undefined;
      });
    });
  }
}
