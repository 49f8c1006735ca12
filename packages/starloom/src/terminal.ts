// The outside of a command: where it runs and where its output goes. Everything that is printed
// passes here, and here whatever a terminal would act on is removed from it.

import { asTyped } from './commands.ts';
import { fit, render, toSafeJson, wantsColour } from './terminal-text.ts';

export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Data, to stdout. */
  readonly print: (text: string) => void;
  /** Data of a program, as one line of JSON. */
  readonly json: (value: unknown, indent?: number) => void;
  /** Data without a line break, to stdout. */
  readonly write: (text: string) => void;
  /** Messages, to stderr. */
  readonly tell: (text: string) => void;
  /** One line on stderr that the next output replaces; nothing where stderr is no terminal. */
  readonly showStatus: (text: string) => void;
  /** A page on stdout in place of the one before; only where `columns` is known. */
  readonly replace: (page: string) => void;
  /** Width of stdout; `undefined` where it is no terminal. */
  readonly columns: number | undefined;
  /** Whether a person reads stderr. */
  readonly isWatched: boolean;
  /** Whether a person is there to be asked. */
  readonly canAsk: boolean;
  /**
   * The answer of a person at the terminal; `undefined` where there is none, and after `signal`.
   * CANCELLED when the person ends it by Ctrl-C or Ctrl-D.
   */
  readonly ask: (question: string, signal?: AbortSignal) => Promise<string | undefined>;
  /** Set by a command that has printed its own failure. */
  exitCode: number;
}

const CLEAR_LINE = '\r\x1b[K';
const HOME = '\x1b[H';
const CLEAR_REST = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

export function createTerminal(process: NodeJS.Process): Terminal {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // The reader of a pipe closed it (`starloom … | head`): no client is left to notify.
      if (error.code === 'EPIPE') process.exit();
      throw error;
    });
  }
  return new ProcessTerminal(process);
}

class ProcessTerminal implements Terminal {
  readonly env: Terminal['env'];
  readonly cwd: string;
  readonly #process: NodeJS.Process;
  readonly #toOut: (text: string) => string;
  readonly #toErr: (text: string) => string;
  exitCode = 0;
  #hasStatus = false;

  constructor(process: NodeJS.Process) {
    this.#process = process;
    this.env = process.env;
    this.cwd = process.cwd();
    const filterFor = ({ isTTY }: NodeJS.WriteStream) => {
      const colour = wantsColour(process.env, isTTY === true);
      return (text: string) => render(text, colour);
    };
    this.#toOut = filterFor(process.stdout);
    this.#toErr = filterFor(process.stderr);
  }

  get columns(): number | undefined {
    const { stdout } = this.#process;
    return stdout.isTTY ? stdout.columns || undefined : undefined;
  }

  get isWatched(): boolean {
    return this.#process.stderr.isTTY === true;
  }

  readonly print = (text: string): void => this.#out(withNewline(this.#toOut(text)));

  readonly json = (value: unknown, indent?: number): void => this.print(toSafeJson(value, indent));

  readonly write = (text: string): void => this.#out(this.#toOut(text));

  readonly replace = (page: string): void => {
    const lines = this.#toOut(page)
      .split('\n')
      .slice(0, this.#process.stdout.rows || undefined);
    this.#out(`${HOME}${lines.map((line) => `${line}${CLEAR_REST}`).join('\r\n')}${CLEAR_BELOW}`);
  };

  readonly tell = (text: string): void => {
    const shown = this.#toErr(asTyped(text, this.env));
    this.#clearStatus();
    this.#process.stderr.write(withNewline(shown));
  };

  readonly showStatus = (text: string): void => {
    if (!this.isWatched) return;
    const width = (this.#process.stderr.columns || 80) - 1;
    const line = this.#toErr(fit(text.replace(/\s+/g, ' '), width));
    this.#process.stderr.write(`${CLEAR_LINE}${line}`);
    this.#hasStatus = true;
  };

  get canAsk(): boolean {
    return this.isWatched && this.#process.stdin.isTTY === true;
  }

  readonly ask = async (question: string, signal?: AbortSignal): Promise<string | undefined> => {
    if (!this.canAsk || signal?.aborted) return undefined;
    this.#clearStatus();
    const { FabricError } = await import('@starloom/core');
    const { createInterface } = await import('node:readline');
    const { stdin, stderr } = this.#process;
    const lines = createInterface({ input: stdin, output: stderr });
    try {
      return await new Promise<string | undefined>((resolve, reject) => {
        signal?.addEventListener('abort', () => resolve(undefined), { once: true });
        lines.once('SIGINT', () => lines.close());
        lines.once('close', () => reject(new FabricError('CANCELLED', 'Ended at the terminal')));
        lines.question(this.#toErr(question), resolve);
      });
    } catch (error) {
      stderr.write('\n');
      throw error;
    } finally {
      lines.close();
    }
  };

  #out(text: string): void {
    this.#clearStatus();
    this.#process.stdout.write(text);
  }

  #clearStatus(): void {
    if (this.#hasStatus) this.#process.stderr.write(CLEAR_LINE);
    this.#hasStatus = false;
  }
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
