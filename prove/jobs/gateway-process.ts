import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { childEnvironment, type ManagedProcess, readNdjson, spawnProcess } from '@starloom/wire';
import { TcpProxy } from '../coordination/tcp-proxy.ts';
import { type Door, openHttpDoor } from './door.ts';

const PROGRAM = fileURLToPath(new URL('./gateway-program.ts', import.meta.url));
const START_TRIES = 50;

/** A gateway behind a wire of ours. It can be killed, and started again on the same state. */
export class GatewayProcess implements AsyncDisposable {
  readonly wire: TcpProxy;
  readonly door: Door;
  readonly #settings: string;
  #process: ManagedProcess | undefined;
  #onDeath: (why: string) => void = () => {};

  static async start(settings: object): Promise<GatewayProcess> {
    const gateway = new GatewayProcess(JSON.stringify(settings), await TcpProxy.open(0));
    await gateway.#start();
    return gateway;
  }

  private constructor(settings: string, wire: TcpProxy) {
    this.#settings = settings;
    this.wire = wire;
    this.door = openHttpDoor(`http://127.0.0.1:${wire.port}`);
  }

  /** Calls back when the process ends and nothing here ended it; then it is started again. */
  set onDeath(listener: (why: string) => void) {
    this.#onDeath = listener;
  }

  /** With SIGKILL, then up again. */
  async crash(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    child?.signal('SIGKILL');
    await child?.stop();
    this.wire.cut();
    await this.#start();
  }

  /** Stands still for a while, as a process does whose machine is suspended. */
  async pause(ms: number): Promise<void> {
    this.#process?.signal('SIGSTOP');
    await delay(ms);
    this.#process?.signal('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wire[Symbol.asyncDispose]();
    const child = this.#process;
    this.#process = undefined;
    child?.signal('SIGKILL');
    await child?.stop();
  }

  async #ended(child: ManagedProcess): Promise<void> {
    if (this.#process !== child) return;
    this.#onDeath(child.stderrTail().slice(-1_500));
    await this.#start();
  }

  /** The engine may be down just now: it tries again. */
  async #start(): Promise<void> {
    let why = '';
    for (let left = START_TRIES; left > 0; left -= 1) {
      const child = await spawnProcess({
        command: process.execPath,
        args: ['--conditions=@starloom/source', PROGRAM, this.#settings],
        env: childEnvironment(),
      });
      const { value } = await readNdjson(child.stdout, { maxLineBytes: 1 << 16 }).next();
      if (value !== undefined) {
        child.stdout.resume();
        this.#process = child;
        void child.exited.then(() => this.#ended(child));
        this.wire.target = (value as { port: number }).port;
        return;
      }
      why = child.stderrTail();
      await child.stop();
      await delay(200);
    }
    throw new Error(`the gateway did not start:\n${why.slice(-2_000)}`);
  }
}
