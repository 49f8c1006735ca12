// Notes in a file of lines that is only added to: a note, or that one is forgotten. The last line may
// be torn by a crash, and another process may add to the file: every change is read from there. When
// most of the file is about forgotten notes it is rewritten.

import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { tryParseJson } from '@starloom/core';
import { writeOwnFile } from '@starloom/wire/own-file';
import { z } from 'zod';
import { failure } from '../../reasons.ts';
import { TurnsByKey } from '../turns.ts';

const noteSchema = z.object({
  id: z.string(),
  at: z.string(),
  text: z.string(),
  tags: z.array(z.string()),
});
const forgottenSchema = z.object({ forgotten: z.string() });

export type Note = z.infer<typeof noteSchema>;

interface NotesOptions {
  readonly path: string;
  readonly maxNotes: number;
  readonly now: () => number;
  readonly warn: (message: string) => void;
}

const REWRITE_FROM_LINES = 1_000;

export class Notes {
  readonly #options: NotesOptions;
  readonly #turns = new TurnsByKey();
  #notes = new Map<string, Note>();
  #lines = 0;
  /** Of the file as it was last read. */
  #seen = '';

  constructor(options: NotesOptions) {
    this.#options = options;
  }

  put(text: string, tags: readonly string[]): Promise<Note> {
    return this.#inTurn(async () => {
      const { maxNotes, now } = this.#options;
      if (this.#notes.size >= maxNotes) {
        throw failure('memory_full', { limit: maxNotes });
      }
      const at = new Date(now()).toISOString();
      const note = { id: randomUUID().slice(0, 8), at, text, tags: [...tags] };
      await this.#append(note);
      return note;
    });
  }

  /** The oldest first. */
  all(): Promise<Note[]> {
    return this.#inTurn(async () => [...this.#notes.values()]);
  }

  /** False when there is no such note. */
  forget(id: string): Promise<boolean> {
    return this.#inTurn(async () => {
      if (!this.#notes.has(id)) return false;
      await this.#append({ forgotten: id });
      this.#notes.delete(id);
      if (this.#lines > REWRITE_FROM_LINES && this.#lines > 4 * this.#notes.size) {
        await this.#rewrite();
      }
      return true;
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.take('notes', async () => {
      await this.#refresh();
      return work();
    });
  }

  async #refresh(): Promise<void> {
    const { path } = this.#options;
    const found = await stat(path).catch(() => undefined);
    const state = found ? `${found.ino}:${found.size}:${found.mtimeMs}` : '';
    if (state === this.#seen) return;
    this.#seen = state;
    this.#notes = new Map();
    this.#lines = 0;
    if (found) for (const line of (await readFile(path, 'utf8')).split('\n')) this.#read(line);
  }

  #read(line: string): void {
    if (line === '') return;
    this.#lines += 1;
    const value = tryParseJson(line);
    const note = noteSchema.safeParse(value);
    const gone = forgottenSchema.safeParse(value);
    if (note.success) this.#notes.set(note.data.id, note.data);
    else if (gone.success) this.#notes.delete(gone.data.forgotten);
    else this.#options.warn(`${this.#options.path}: a line that is no note was passed over`);
  }

  async #append(entry: Note | { forgotten: string }): Promise<void> {
    const { path } = this.#options;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await using handle = await open(path, 'a+', 0o600);
    await handle.appendFile(`${(await endsTorn(handle)) ? '\n' : ''}${JSON.stringify(entry)}\n`);
    await handle.sync();
  }

  async #rewrite(): Promise<void> {
    const lines = Array.from(this.#notes.values(), (note) => `${JSON.stringify(note)}\n`);
    await writeOwnFile(this.#options.path, lines.join(''));
  }
}

async function endsTorn(handle: FileHandle): Promise<boolean> {
  const { size } = await handle.stat();
  if (size === 0) return false;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer.toString() !== '\n';
}

/**
 * The notes that share words with the query, the best first: rare words count for more, and among
 * equals the newer one wins.
 */
export function rankNotes(notes: readonly Note[], query: string): Note[] {
  const wanted = wordsOf(query);
  const held = notes.map((note) => wordsOf(`${note.text} ${note.tags.join(' ')}`));
  const weights = new Map(
    [...wanted].map((word) => {
      const holders = held.filter((words) => words.has(word)).length;
      return [word, Math.log(1 + notes.length / Math.max(1, holders))];
    }),
  );
  const score = (words: ReadonlySet<string>) =>
    [...weights].reduce((sum, [word, weight]) => (words.has(word) ? sum + weight : sum), 0);
  return notes
    .map((note, index) => ({ note, index, score: score(held[index] ?? new Set()) }))
    .filter((ranked) => ranked.score > 0)
    .sort((a, b) => b.score - a.score || b.index - a.index)
    .map(({ note }) => note);
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}
