import { chown } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { childEnvironment, type ManagedProcess, spawnProcess } from '@starloom/wire';
import type { ServerDefinition, ServerSetup } from './engines.ts';
import { runProgram } from './run-program.ts';

const START_TIMEOUT_MS = 60_000;
const START_ATTEMPTS = 5;

export class RunningServer {
  readonly #definition: ServerDefinition;
  #setup: ServerSetup;
  #process: ManagedProcess | undefined;

  constructor(definition: ServerDefinition, setup: Omit<ServerSetup, 'owner'>) {
    this.#definition = definition;
    this.#setup = { ...setup, owner: {} };
  }

  get pid(): number {
    if (this.#process === undefined) throw new Error('the server never started');
    return this.#process.pid;
  }

  async prepare(): Promise<void> {
    const { user } = this.#definition;
    if (user !== undefined && process.getuid?.() === 0) {
      const [uid, gid] = await Promise.all([idOf('-u', user), idOf('-g', user)]);
      await chown(this.#setup.folder, uid, gid);
      this.#setup = { ...this.#setup, owner: { uid, gid } };
    }
    await this.#definition.prepare?.(this.#setup);
  }

  /** After a kill the remains of the last server may be in the way for a moment: it tries again. */
  async start(): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    let log = '';
    for (let attempt = 1; attempt <= START_ATTEMPTS; attempt += 1) {
      const child = await this.#spawn((text) => {
        log = (log + text).slice(-8_192);
      });
      if (await this.#answers(child, deadline)) return;
      await child.stop();
      if (performance.now() > deadline) break;
      await delay(100 * attempt);
    }
    throw new Error(`${this.#setup.path} did not start:\n${log}`);
  }

  async stop(): Promise<void> {
    const { stopSignal } = this.#definition;
    if (stopSignal !== undefined) this.#process?.signal(stopSignal);
    await this.#process?.stop();
  }

  async kill(): Promise<void> {
    this.#process?.signal('SIGKILL');
    await this.#process?.stop();
  }

  async #spawn(onOutput: (text: string) => void): Promise<ManagedProcess> {
    const { path, folder, owner } = this.#setup;
    const child = await spawnProcess({
      command: path,
      args: this.#definition.args(this.#setup),
      cwd: folder,
      env: childEnvironment({ extra: { HOME: folder } }),
      ...owner,
      graceMs: 15_000,
      onStderrLine: (line) => onOutput(`${line}\n`),
    });
    child.stdout.on('data', (chunk: Buffer) => onOutput(chunk.toString()));
    this.#process = child;
    return child;
  }

  async #answers(child: ManagedProcess, deadline: number): Promise<boolean> {
    let exited = false;
    void child.exited.then(() => {
      exited = true;
    });
    while (!exited && performance.now() < deadline) {
      if (await this.#definition.isReady(this.#setup.port).catch(() => false)) return true;
      await delay(20);
    }
    return false;
  }
}

async function idOf(flag: '-u' | '-g', user: string): Promise<number> {
  const { code, stdout } = await runProgram({ command: 'id', args: [flag, user] });
  if (code !== 0) throw new Error(`there is no user ${user}`);
  return Number(stdout);
}
