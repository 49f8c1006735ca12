// The lines that the user types, one at a time. What is typed while a turn runs waits for the next
// one; a question that is open takes the next line first. Ctrl-C never ends it, Ctrl-D does.

import { createInterface, type Interface } from 'node:readline';

export interface ChatInputOptions {
  readonly isLive: boolean;
  readonly prompt: string;
  /** Slash commands as they can be typed, without the slash. */
  readonly commands: () => readonly string[];
  readonly onInterrupt: () => void;
}

export class ChatInput implements Disposable {
  readonly #lines: Interface;
  readonly #isLive: boolean;
  readonly #waiting: string[] = [];
  #taker: ((line: string | undefined) => void) | undefined;
  #isClosed = false;

  constructor({ isLive, prompt, commands, onInterrupt }: ChatInputOptions) {
    this.#isLive = isLive;
    this.#lines = createInterface({
      input: process.stdin,
      terminal: isLive,
      prompt,
      ...(isLive && {
        output: process.stdout,
        completer: (line: string) => complete(line, commands()),
      }),
    });
    this.#lines.on('line', (line) => this.#give(line));
    this.#lines.on('SIGINT', onInterrupt);
    this.#lines.on('close', () => {
      this.#isClosed = true;
      this.#taker?.(undefined);
    });
  }

  /** The next line; `undefined` at the end. */
  async next(): Promise<string | undefined> {
    const line = this.#waiting.shift();
    if (line !== undefined) return line;
    if (this.#isClosed) return undefined;
    if (this.#isLive) this.#lines.prompt();
    return await this.#take();
  }

  /** A line typed after the question was shown; `undefined` when none comes. */
  async ask(question: string, signal: AbortSignal): Promise<string | undefined> {
    if (this.#isClosed || signal.aborted) return undefined;
    const before = this.#lines.getPrompt();
    const split = question.lastIndexOf('\n') + 1;
    process.stdout.write(question.slice(0, split));
    this.#lines.setPrompt(question.slice(split));
    this.#lines.prompt();
    const cancel = () => this.#taker?.(undefined);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const line = await this.#take();
      if (line === undefined) process.stdout.write('\n');
      return line;
    } finally {
      signal.removeEventListener('abort', cancel);
      this.#lines.setPrompt(before);
    }
  }

  /** Drops what is half typed, and shows the prompt again. */
  clear(hint: string): void {
    this.#lines.write(null, { ctrl: true, name: 'e' });
    this.#lines.write(null, { ctrl: true, name: 'u' });
    process.stdout.write(`\n${hint}`);
    this.#lines.prompt();
  }

  /** What was typed ahead is forgotten. */
  [Symbol.dispose](): void {
    this.#waiting.length = 0;
    this.#lines.close();
  }

  #take(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#taker = (line) => {
        this.#taker = undefined;
        resolve(line);
      };
    });
  }

  #give(line: string): void {
    if (this.#taker) this.#taker(line);
    else this.#waiting.push(line);
  }
}

/** Names of commands, while the first word is typed. */
export function complete(line: string, commands: readonly string[]): [string[], string] {
  if (!/^\/\S*$/.test(line)) return [[], line];
  const found = commands.map((name) => `/${name} `).filter((name) => name.startsWith(line));
  return [found, line];
}
