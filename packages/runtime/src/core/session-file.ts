// A session on disk: one JSON object per line, only ever appended, whole lines at a time. What was
// appended is in the file when `append` returns: a short write into the page cache costs a tenth of a
// trip through the thread pool. A process that dies while writing leaves at most one broken line;
// reading skips it, and what comes next begins on a new line.

import { appendFileSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
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
  /** Lines that are still to be written, or that could not be. */
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

  /** The first line of a new session; it goes into the file with what is appended first. */
  begin(line: SessionLine): void {
    this.#pending = toText([line]);
  }

  /** What goes wrong is thrown by `assertSaved`. */
  append(lines: readonly SessionLine[]): void {
    this.#pending += toText(lines);
    this.#write();
  }

  /** Tries again what could not be written; throws when it still cannot be. */
  assertSaved(): void {
    if (this.#failure !== undefined) this.#write();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #write(): void {
    try {
      appendText(this.path, this.#endsInside ? `\n${this.#pending}` : this.#pending);
      this.#pending = '';
      this.#endsInside = false;
      this.#failure = undefined;
    } catch (error) {
      this.#endsInside = true;
      this.#failure = error;
    }
  }
}

/** A folder that is not there is made. */
function appendText(path: string, text: string): void {
  try {
    appendFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    appendFileSync(path, text, { mode: 0o600 });
  }
}

function toText(lines: readonly SessionLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

function parseLine(line: string): SessionLine | undefined {
  try {
    return lineSchema.safeParse(JSON.parse(line)).data as SessionLine | undefined;
  } catch {
    return undefined;
  }
}
