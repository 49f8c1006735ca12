// A session on disk: one JSON object per line, only ever appended, whole lines at a time. A process
// that dies while writing leaves at most one broken line; reading skips it, and what comes next begins
// on a new line.

import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Block } from '@starloom/sdk';
import { z } from 'zod';

const blockSchema = z.looseObject({
  id: z.string(),
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  segments: z.array(z.looseObject({ type: z.string() })),
  trust: z.enum(['trusted', 'vetted', 'untrusted']),
  type: z.enum(['instruction', 'data']),
  source: z.string(),
});

const lineSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('session'), version: z.literal(1), id: z.string(), at: z.number() }),
  z.object({ kind: z.literal('block'), block: blockSchema }),
  z.object({ kind: z.literal('folded'), summary: blockSchema, ids: z.array(z.string()) }),
]);

export type SessionLine =
  | { kind: 'session'; version: 1; id: string; at: number }
  | { kind: 'block'; block: Block }
  /** `summary` stands where the blocks of these ids stood. */
  | { kind: 'folded'; summary: Block; ids: readonly string[] };

export class SessionFile {
  readonly path: string;
  #queue: Promise<void> = Promise.resolve();
  /** Lines that no write has taken yet, or that a failed write has given back. */
  #pending = '';
  #endsInside = false;
  #failure: unknown;

  constructor(path: string) {
    this.path = path;
  }

  /** `undefined` when there is no such session. */
  async read(): Promise<{ lines: SessionLine[]; broken: number } | undefined> {
    const text = await readFile(this.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    this.#endsInside = text !== '' && !text.endsWith('\n');
    const written = text.split('\n').filter((line) => line.trim() !== '');
    const lines = written.flatMap((line) => parseLine(line) ?? []);
    return { lines, broken: written.length - lines.length };
  }

  /** In order, without waiting; what went wrong is thrown by `saved`. */
  append(lines: readonly SessionLine[]): void {
    this.#pending += lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    this.#queue = this.#queue.then(() => this.#write());
  }

  /** Everything appended so far is in the file; what a failed write gave back is tried again. */
  async saved(): Promise<void> {
    if (this.#failure !== undefined) this.append([]);
    await this.#queue;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #write(): Promise<void> {
    const text = this.#pending;
    if (text === '') return;
    this.#pending = '';
    try {
      await this.#appendText(this.#endsInside ? `\n${text}` : text);
      this.#endsInside = false;
      this.#failure = undefined;
    } catch (error) {
      this.#pending = text + this.#pending;
      this.#endsInside = true;
      this.#failure = error;
    }
  }

  async #appendText(text: string): Promise<void> {
    try {
      await appendFile(this.path, text, { mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
      await appendFile(this.path, text, { mode: 0o600 });
    }
  }
}

function parseLine(line: string): SessionLine | undefined {
  try {
    return lineSchema.safeParse(JSON.parse(line)).data as SessionLine | undefined;
  } catch {
    return undefined;
  }
}
