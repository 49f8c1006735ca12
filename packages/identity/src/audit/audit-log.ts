// Writes the audit log. Entries are written in batches, in order, a few milliseconds after they were
// made; a mint waits until its line is in the file. Where a line cannot be written, nothing is
// skipped in silence: entries wait within bounds, and what had to be dropped is counted in the log itself.
// A batch that could not be written whole is cut off again; once there is room the file is marked, and
// goes on.

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

interface Waiting {
  readonly entry: AuditEntry;
  readonly at: number;
  /** For a caller that waits for the line. */
  readonly written?: PromiseWithResolvers<void>;
}

const FILE_BYTES = 8 * 1024 ** 2;
const TOTAL_BYTES = 256 * 1024 ** 2;
const MAX_WAITING = 100_000;
const RETRY_MS = 1_000;
/** How long an entry that no caller waits for may wait for others. */
const BATCH_MS = 50;
const SEAL_AFTER = 1_000;
const SEAL_MS = 5_000;
/** Lines for refused credentials, each second: callers without one must not fill the log. */
const DENIED_PER_SECOND = 20;

export class AuditLog {
  /** Where its files are. */
  readonly folder: string;
  readonly #options: AuditLogOptions;
  readonly #sealing: NodeJS.Timeout;
  #file: AuditFile | undefined;
  #waiting: Waiting[] = [];
  #lost = 0;
  #failure: FabricError | undefined;
  #flushing: Promise<void> | undefined;
  #batching: NodeJS.Timeout | undefined;
  #files = 0;
  #denied = { second: 0, count: 0 };
  /** From now on batches are written at once. */
  #closing = false;
  #closed = false;

  private constructor(options: AuditLogOptions) {
    this.#options = options;
    this.folder = options.folder;
    this.#sealing = setInterval(() => this.#seal(), SEAL_MS).unref();
  }

  static async open(options: AuditLogOptions): Promise<AuditLog> {
    const log = new AuditLog(options);
    try {
      await makeOwnFolder(options.folder);
      log.#file = await log.#begin();
      await keepReserve(options.folder);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      log.#failed(error);
    }
    return log;
  }

  /** Rejects while entries cannot be written. */
  async check(): Promise<void> {
    if (this.#failure) throw this.#failure;
  }

  /** Written soon; never throws and never waits. */
  record(entry: AuditEntry): void {
    this.#add({ entry, at: this.#options.clock.now() });
  }

  /** Resolves when the line is in the file; OVERLOADED when it cannot be written. */
  async recorded(entry: AuditEntry): Promise<void> {
    const written = Promise.withResolvers<void>();
    this.#add({ entry, at: this.#options.clock.now(), written });
    await written.promise;
  }

  /** A credential that was refused; many in one second share a line. */
  denied(credential: string, reason: string, trace_id?: string): void {
    const second = Math.floor(this.#options.clock.now() / 1000);
    const before = this.#denied;
    if (before.second !== second) {
      const more = before.count - DENIED_PER_SECOND;
      if (more > 0) this.record({ type: 'denied', credential: 'any', reason: 'many', more });
      this.#denied = { second, count: 0 };
    }
    this.#denied.count += 1;
    if (this.#denied.count <= DENIED_PER_SECOND) {
      this.record({ type: 'denied', credential, reason, ...(trace_id && { trace_id }) });
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#sealing);
    this.#closing = true;
    if (this.#waiting.length > 0) this.#flushSoon();
    while (this.#flushing) await this.#flushing;
    this.#closed = true;
    await this.#file?.end().catch((error: unknown) => this.#failed(error));
  }

  #add(waiting: Waiting): void {
    if (this.#closed || this.#waiting.length >= MAX_WAITING) {
      this.#lost += 1;
      waiting.written?.reject(this.#failure ?? notWritten());
      return;
    }
    this.#waiting.push(waiting);
    if (waiting.written) this.#flushSoon();
    else if (!this.#flushing) this.#flushLater();
  }

  #flushLater(): void {
    this.#batching ??= setTimeout(() => this.#flushSoon(), BATCH_MS).unref();
  }

  /** One flush at a time; what comes meanwhile goes with the next batch, at once if a caller waits. */
  #flushSoon(): void {
    clearTimeout(this.#batching);
    this.#batching = undefined;
    this.#flushing ??= new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => this.#flush())
      .then((isDone) => {
        this.#flushing = undefined;
        if (!isDone || this.#waiting.length === 0) return;
        const isAwaited = this.#waiting.some(({ written }) => written);
        if (isAwaited || this.#closing) this.#flushSoon();
        else this.#flushLater();
      });
  }

  /** False when it is tried again later. */
  async #flush(): Promise<boolean> {
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      this.#file ??= await this.#begin();
      const lost = this.#lost;
      await this.#file.write(this.#withLost(batch, lost));
      this.#lost -= lost;
      for (const { written } of batch.splice(0)) written?.resolve();
      if (this.#failure) await this.#recovered();
      if (this.#file.bytes > (this.#options.fileBytes ?? FILE_BYTES)) await this.#turnOver();
      else if (this.#file.unsealed >= SEAL_AFTER) await this.#file.seal();
      return true;
    } catch (error) {
      this.#failed(error);
      for (const { written } of batch) written?.reject(this.#failure);
      this.#waiting = [...batch.filter(({ written }) => !written), ...this.#waiting];
      setTimeout(() => this.#flushSoon(), RETRY_MS).unref();
      return false;
    }
  }

  /** Adds a record that says how many entries were dropped. */
  #withLost(waiting: readonly Waiting[], lost: number): readonly Waiting[] {
    if (lost === 0) return waiting;
    const entry = { type: 'lost', entries: lost } as const;
    return [{ entry, at: this.#options.clock.now() }, ...waiting];
  }

  async #turnOver(): Promise<void> {
    await this.#file?.end();
    const continues = this.#file?.link;
    this.#file = undefined;
    this.#file = await this.#begin(continues);
    await this.#prune();
  }

  /** A file that cannot be used any more is left as it is: another one continues from its last line. */
  #failed(error: unknown): void {
    if (!this.#file?.isWhole) {
      void this.#file?.abandon();
      this.#file = undefined;
    }
    if (this.#failure) return;
    this.#failure = notWritten(error);
    this.#options.log.error({ error: this.#failure }, 'the audit log cannot be written');
  }

  async #recovered(): Promise<void> {
    this.#failure = undefined;
    this.#options.log.info({}, 'the audit log is written again');
    await refillReserve(this.#options.folder);
  }

  #seal(): void {
    const file = this.#file;
    if (this.#flushing || this.#closed || !file || file.unsealed === 0) return;
    this.#flushing = file
      .seal()
      .catch((error: unknown) => this.#failed(error))
      .then(() => {
        this.#flushing = undefined;
        if (this.#waiting.length > 0) this.#flushSoon();
      });
  }

  async #begin(known?: Continued): Promise<AuditFile> {
    const { folder, keys, clock } = this.#options;
    const continues = known ?? (await lastLink(folder));
    this.#files += 1;
    // Names are in the order of the files, also after the clock was set back.
    const last = timeOf((await auditFiles(folder)).at(-1));
    const path = join(folder, chainFileName(Math.max(clock.now(), last + 1), this.#files));
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

function notWritten(cause?: unknown): FabricError {
  return failure(isDiskFull(cause) ? 'disk_full/audit' : 'audit_unavailable', {}, { cause });
}

interface AuditFileOptions {
  readonly keys: SigningKeys;
  readonly clock: Clock;
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
      sign: (bytes) => keys.signBytes(bytes).signature,
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

  async write(entries: readonly Waiting[]): Promise<void> {
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
