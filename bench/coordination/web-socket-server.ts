import { Child } from '../child.ts';
import type { Program } from '../own-program.ts';
import { GATEWAY_HEADERS } from '../targets/starloom.ts';
import type { GatewayAddress } from './clients/connection.ts';

/** A hang guard, not a measure. */
const START_MS = 30_000;

/** A process that serves WebSockets and said so in a line, as `starloom up --json` does. */
export class WebSocketServer implements AsyncDisposable {
  readonly address: GatewayAddress;
  readonly pid: number;
  readonly #child: Child;

  static async start(program: Program, signal: AbortSignal): Promise<WebSocketServer> {
    const child = await Child.start(program);
    try {
      const ready = (await child.receive(START_MS, signal)) as { url: string; pid: number };
      return new WebSocketServer(child, ready.url, ready.pid);
    } catch (error) {
      await child[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(child: Child, url: string, pid: number) {
    this.#child = child;
    this.pid = pid;
    this.address = { url: new URL('/rpc/ws', url).href, headers: GATEWAY_HEADERS };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
  }
}
