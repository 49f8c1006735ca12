// A program of an example, in a process of its own, which tells what it does in lines of JSON.

import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { childEnvironment, type ManagedProcess, spawnProcess } from '@starloom/wire';

/** The command line, as `npx starloom` runs it. */
export const STARLOOM = fileURLToPath(
  new URL('../packages/starloom/bin/starloom.js', import.meta.url),
);

/** A hang guard: on a busy machine a process may take its time. */
const PATIENCE_MS = 60_000;

export interface ProgramOptions {
  /** Script and arguments for this Node. */
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export async function startProgram<Line extends object>(
  { args, cwd, env = {} }: ProgramOptions,
  onLine: (line: Line) => void = () => {},
): Promise<RunningProgram<Line>> {
  const process_ = await spawnProcess({
    command: process.execPath,
    args: [...process.execArgv, ...args],
    env: childEnvironment({ extra: env }),
    ...(cwd !== undefined && { cwd }),
  });
  return new RunningProgram(process_, onLine);
}

export class RunningProgram<Line extends object> implements AsyncDisposable {
  readonly said: Line[] = [];
  readonly #process: ManagedProcess;
  readonly #changed = new EventEmitter<{ changed: [] }>();
  #hasEnded = false;

  constructor(process_: ManagedProcess, onLine: (line: Line) => void) {
    this.#process = process_;
    void this.#listen(onLine);
  }

  /** The first line that fits, said already or still to come. */
  async line(fits: (line: Line) => boolean): Promise<Line> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const found = this.said.find(fits);
      if (found) return found;
      if (this.#hasEnded || signal.aborted) throw this.#silence();
      await once(this.#changed, 'changed', { signal }).catch(() => undefined);
    }
  }

  /** As a crash or a power cut would end it: without a last word. */
  async kill(): Promise<void> {
    this.#process.signal('SIGKILL');
    await this.#process.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stop();
  }

  #silence(): Error {
    const said = [JSON.stringify(this.said), this.#process.stderrTail()].join('\n');
    const why = this.#hasEnded ? 'ended' : `said nothing more for ${PATIENCE_MS} ms`;
    return new Error(`the program ${why}; it said ${said}`);
  }

  async #listen(onLine: (line: Line) => void): Promise<void> {
    try {
      for await (const text of this.#process.lines()) {
        const line: Line = JSON.parse(text);
        this.said.push(line);
        onLine(line);
        this.#changed.emit('changed');
      }
    } finally {
      this.#hasEnded = true;
      this.#changed.emit('changed');
    }
  }
}
