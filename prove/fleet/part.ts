// One process of the fleet: it can be ended, killed, and started again at the same address.

import { childEnvironment, type ManagedProcess, spawnProcess } from '@starloom/wire';

/** A hang guard: on a busy machine a process may take its time. */
const READY_MS = 60_000;

export interface PartPlan {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Whether it works now. */
  readonly isReady: (part: Part) => Promise<boolean>;
}

export class Part implements AsyncDisposable {
  readonly name: string;
  /** What it printed since it was started last. */
  lines: string[] = [];
  readonly #plan: PartPlan;
  #process: ManagedProcess | undefined;

  static async start(plan: PartPlan): Promise<Part> {
    const part = new Part(plan);
    await part.start();
    return part;
  }

  private constructor(plan: PartPlan) {
    this.name = plan.name;
    this.#plan = plan;
  }

  async start(): Promise<void> {
    const { command, args, env = {}, cwd, isReady } = this.#plan;
    const child = await spawnProcess({
      command,
      args: [...args],
      env: childEnvironment({ extra: env }),
      ...(cwd !== undefined && { cwd }),
      graceMs: 45_000,
    });
    this.#process = child;
    this.lines = [];
    let hasEnded = false;
    void child.exited.then(() => {
      hasEnded = true;
    });
    void this.#listen(child);
    const signal = AbortSignal.timeout(READY_MS);
    while (!(await isReady(this).catch(() => false))) {
      if (!hasEnded && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, 50));
      else throw new Error(`${this.name} did not start:\n${child.stderrTail().slice(-2_000)}`);
    }
  }

  /** As an operator ends it; whether it ended well. */
  async end(): Promise<boolean> {
    this.#process?.signal('SIGTERM');
    const exit = await this.#process?.exited;
    return exit?.code === 0;
  }

  async kill(): Promise<void> {
    this.#process?.signal('SIGKILL');
    await this.#process?.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.stop();
  }

  async #listen(child: ManagedProcess): Promise<void> {
    for await (const line of child.lines()) this.lines.push(line);
  }
}
