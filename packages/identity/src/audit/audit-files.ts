// The files of the audit log: each continues the one before, the oldest are removed when all together are
// too large. A batch that could not be written whole is cut off again; once there is room the file is
// marked, and goes on.

import { type FileHandle, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock, FabricError, Log } from '@starloom/core';
import {
  isDiskFull,
  keepReserve,
  makeOwnFolder,
  refillReserve,
  releaseReserve,
} from '@starloom/wire';
import { Chain, type Continued, chainFileName, type Extension, linkOf } from '../chained-log.ts';
import { failure } from '../reasons.ts';
import type { SigningKeys } from '../tokens/signing-keys.ts';
import type { AuditEntry } from './audit-record.ts';

export interface AuditLogOptions {
  readonly folder: string;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly log: Log;
  /** A file that is larger is closed, and another one continues it. */
  readonly fileBytes?: number;
  /** What all files may take together; the oldest are removed. */
  readonly totalBytes?: number;
}

export interface TimedEntry {
  readonly entry: AuditEntry;
  readonly at: number;
}

const FILE_BYTES = 8 * 1024 ** 2;
const TOTAL_BYTES = 256 * 1024 ** 2;
const SEAL_AFTER = 1_000;

export class AuditFiles {
  readonly #options: AuditLogOptions;
  #file: AuditFile | undefined;
  #count = 0;
  /** Why entries cannot be written at the moment. */
  failure: FabricError | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  /** Lines that no signature covers yet. */
  get unsealed(): number {
    return this.#file?.unsealed ?? 0;
  }

  async open(): Promise<void> {
    const { folder } = this.#options;
    try {
      await makeOwnFolder(folder);
      this.#file = await this.#begin();
      await keepReserve(folder);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      this.failed(error);
    }
  }

  async write(entries: readonly TimedEntry[]): Promise<void> {
    this.#file ??= await this.#begin();
    await this.#file.write(entries);
  }

  /** What is due after a batch was written. */
  async settle(): Promise<void> {
    if (this.failure) await this.#recovered();
    if (!this.#file) return;
    if (this.#file.bytes > (this.#options.fileBytes ?? FILE_BYTES)) await this.#turnOver();
    else if (this.#file.unsealed >= SEAL_AFTER) await this.#file.seal();
  }

  async seal(): Promise<void> {
    await this.#file?.seal().catch((error: unknown) => this.failed(error));
  }

  async end(): Promise<void> {
    await this.#file?.end().catch((error: unknown) => this.failed(error));
  }

  /** A file that cannot be used any more is left as it is: another one continues from its last line. */
  failed(error: unknown): FabricError {
    if (!this.#file?.isWhole) {
      void this.#file?.abandon();
      this.#file = undefined;
    }
    if (this.failure) return this.failure;
    this.failure = notWritten(error);
    this.#options.log.error({ error: this.failure }, 'the audit log cannot be written');
    return this.failure;
  }

  async #recovered(): Promise<void> {
    this.failure = undefined;
    this.#options.log.info({}, 'the audit log is written again');
    await refillReserve(this.#options.folder);
  }

  async #turnOver(): Promise<void> {
    await this.#file?.end();
    const continues = this.#file?.link;
    this.#file = undefined;
    this.#file = await this.#begin(continues);
    await this.#prune();
  }

  async #begin(known?: Continued): Promise<AuditFile> {
    const { folder, keys, clock } = this.#options;
    const continues = known ?? (await lastLink(folder));
    this.#count += 1;
    // Names are in the order of the files, also after the clock was set back.
    const last = timeOf((await auditFiles(folder)).at(-1));
    const path = join(folder, chainFileName(Math.max(clock.now(), last + 1), this.#count));
    return await AuditFile.create(path, { keys, clock, continues });
  }

  async #prune(): Promise<void> {
    const { folder, totalBytes = TOTAL_BYTES } = this.#options;
    const names = await auditFiles(folder);
    const sizes = await Promise.all(
      names.map(async (name) => (await stat(join(folder, name))).size),
    );
    let total = sizes.reduce((sum, size) => sum + size, 0);
    for (const [index, name] of names.slice(0, -1).entries()) {
      if (total <= totalBytes) return;
      total -= sizes[index] ?? 0;
      await rm(join(folder, name), { force: true });
    }
  }
}

export function notWritten(cause?: unknown): FabricError {
  return failure(isDiskFull(cause) ? 'disk_full/audit' : 'audit_unavailable', {}, { cause });
}

interface AuditFileOptions extends Pick<AuditLogOptions, 'keys' | 'clock'> {
  readonly continues: Continued | null;
}

class AuditFile {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #chain: Chain;
  bytes = 0;
  /** It ends with a whole line: more can follow. */
  isWhole = true;
  #isInterrupted = false;

  private constructor(path: string, handle: FileHandle, options: AuditFileOptions) {
    const { keys, clock, continues } = options;
    this.#path = path;
    this.#handle = handle;
    this.#chain = new Chain({
      clock,
      continues,
      encode: JSON.stringify,
      signer: () => ({ kid: keys.currentKid }),
      sign: (bytes) => keys.signBytes(bytes),
    });
  }

  static async create(path: string, options: AuditFileOptions): Promise<AuditFile> {
    const file = new AuditFile(path, await open(path, 'ax', 0o600), options);
    const { continues } = options;
    try {
      await file.#sign({ type: 'open', version: 1, continues });
      return file;
    } catch (error) {
      await file.abandon();
      await rm(path, { force: true });
      throw error;
    }
  }

  /** Where another file goes on. */
  get link(): Continued {
    return { file: basename(this.#path), hash: this.#chain.link };
  }

  /** Lines that no signature covers yet. */
  get unsealed(): number {
    return this.#chain.unsealed;
  }

  async write(entries: readonly TimedEntry[]): Promise<void> {
    if (this.#isInterrupted) {
      await this.#sign({ type: 'seal', interrupted: true });
      this.#isInterrupted = false;
    }
    if (entries.length > 0) await this.#append(this.#chain.extend(entries));
  }

  async seal(): Promise<void> {
    await this.#sign({ type: 'seal' });
  }

  async end(): Promise<void> {
    await this.#sign({ type: 'close' });
    await this.#handle.close();
  }

  async abandon(): Promise<void> {
    await this.#handle.close().catch(() => {});
  }

  async #sign(entry: AuditEntry): Promise<void> {
    await this.#append(this.#chain.sign(entry));
  }

  async #append(extension: Extension): Promise<void> {
    const text = Buffer.from(extension.text);
    for (;;) {
      try {
        await this.#handle.appendFile(text);
        this.bytes += text.length;
        this.#chain.accept(extension);
        return;
      } catch (error) {
        this.isWhole = false;
        await this.#handle.truncate(this.bytes);
        this.isWhole = true;
        if (isDiskFull(error) && releaseReserve(dirname(this.#path))) continue;
        this.#isInterrupted = true;
        throw error;
      }
    }
  }
}

/** Oldest first. */
export async function auditFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith('.jsonl')).sort();
}

/** Where the next file goes on: the last whole line of all. */
async function lastLink(folder: string): Promise<Continued | null> {
  for (const file of (await auditFiles(folder)).reverse()) {
    const lines = (await readFile(join(folder, file), 'utf8')).split('\n').slice(0, -1);
    const line = lines.at(-1);
    if (line !== undefined) return { file, hash: linkOf(line) };
  }
  return null;
}

/** When the file of that name began; of an unknown name, before all others. */
function timeOf(name = ''): number {
  const [, day, hours, minutes, rest = ''] = /^([\d-]{10}T)(\d\d)-(\d\d)-(\S{7})/.exec(name) ?? [];
  const ms = Date.parse(`${day}${hours}:${minutes}:${rest.replace('-', '.')}`);
  return Number.isNaN(ms) ? 0 : ms;
}
