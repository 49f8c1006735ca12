// A JSON file of the state folder that several processes share: gateways read it live, commands change
// it. Writers take turns by a lock, a change is put in place at once, and readers follow within a second.

import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FabricError, type Log } from '@starloom/core';
import {
  closeToOthers,
  FileWatch,
  fingerprintOf,
  isDiskFull,
  refillReserve,
  withFileLock,
  writeOwnFile,
} from '@starloom/wire';
import type { z } from 'zod';
import { failure } from '../reasons.ts';

export interface StateFileOptions<T> {
  readonly path: string;
  readonly schema: z.ZodType<T>;
  /** What a file that does not exist stands for. */
  readonly empty: T;
  /** What to do when its content cannot be used. */
  readonly fix?: string;
}

interface LiveFileOptions<T> extends StateFileOptions<T> {
  readonly log: Log;
  /** After every change, also of our own. */
  readonly onChange: (value: T) => void;
}

/** Events of the folder come first; a poll finds changes that a network file system does not report. */
const POLL_MS = 500;
const SETTLE_MS = 50;

/** What the file says; BAD_INPUT when it cannot be used. */
export async function readState<T>(options: StateFileOptions<T>): Promise<T> {
  const { path: file, schema, empty, fix } = options;
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    const why = error.code ?? 'unreadable';
    throw failure('config/state', { file, why, fix }, { cause: error });
  });
  if (text === undefined) return empty;
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw failure('config/state', { file, why: 'its content is not valid', fix });
}

/** How a change reads the file, and what it does after it wrote; both while no other writer can. */
interface Access<T> {
  readonly read: () => Promise<T>;
  readonly written?: (value: T) => Promise<void>;
}

/** Changes the file; `edit` sees what others wrote before. Resolves when the change is on the disk. */
export async function changeState<T>(
  options: StateFileOptions<T>,
  edit: (value: T) => T | Promise<T>,
  { read, written }: Access<T> = { read: () => readState(options) },
): Promise<T> {
  const { path } = options;
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const change = async () => {
    const before = await read();
    const after = await edit(before);
    if (after === before) return after;
    await writeOwnFile(path, `${JSON.stringify(after, null, 2)}\n`);
    await written?.(after);
    return after;
  };
  const changed = await withFileLock(path, change).catch((error: unknown) => {
    throw isDiskFull(error) ? failure('disk_full/state', { file: path }, { cause: error }) : error;
  });
  await refillReserve(folder);
  return changed;
}

/** The file as it is now. A file that became unusable is logged, and what it said before stays. */
export class LiveFile<T> {
  readonly #options: LiveFileOptions<T>;
  #value: T;
  /** What the file said when its fingerprint was `#seen`: one that did not change is not parsed again. */
  #last: T;
  #seen = '';
  #watch: FileWatch | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: LiveFileOptions<T>, value: T) {
    this.#options = options;
    this.#value = value;
    this.#last = value;
  }

  static async open<T>(options: LiveFileOptions<T>): Promise<LiveFile<T>> {
    const { path, log } = options;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const known = await fingerprintOf(path);
    if (await closeToOthers(path)) {
      log.warn({ path }, 'other users could read the file; its mode is 0600 now');
    }
    const file = new LiveFile(options, await readState(options));
    const onChange = () => void file.reload();
    file.#watch = new FileWatch({
      path,
      known,
      onChange,
      log,
      settleMs: SETTLE_MS,
      pollMs: POLL_MS,
    });
    return file;
  }

  get value(): T {
    return this.#value;
  }

  async change(edit: (value: T) => T | Promise<T>): Promise<T> {
    await changeState(this.#options, edit, {
      read: () => this.#read(),
      written: async (value) => {
        this.#seen = await fingerprintOf(this.#options.path);
        this.#last = value;
      },
    });
    await this.reload();
    return this.#value;
  }

  /** Reads the file now; a change of the file needs no such call. */
  reload(): Promise<void> {
    const read = this.#turn.then(async () => {
      const { path, log, onChange } = this.#options;
      try {
        const value = await this.#read();
        if (value === this.#value) return;
        this.#value = value;
        onChange(value);
      } catch (error) {
        log.error({ path, error: FabricError.from(error) }, 'the file cannot be used; no change');
      }
    });
    this.#turn = read;
    return read;
  }

  async close(): Promise<void> {
    this.#watch?.close();
    await this.#turn;
  }

  /** The same value as before while the file says the same. */
  async #read(): Promise<T> {
    const seen = await fingerprintOf(this.#options.path);
    if (seen === this.#seen) return this.#last;
    const value = await readState(this.#options);
    this.#seen = seen;
    if (JSON.stringify(value) !== JSON.stringify(this.#last)) this.#last = value;
    return this.#last;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
