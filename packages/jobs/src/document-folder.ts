// Documents that are too large for a row, as files: one folder per job, named by the hash of what they
// hold. A file is complete and synced before the row that names it is written.

import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FabricError } from '@starloom/core';
import { diskFull, diskRoom, isDiskFull, writeOwnFile } from '@starloom/wire';
import { FILE_MARK } from './ledger/job-tables.ts';
import { failure } from './reasons.ts';

/** Larger documents are refused. */
const MAX_BYTES = 64 * 1024 * 1024;
const UNWRITTEN = 'a document of the job cannot be written';

export interface DocumentFolderOptions {
  readonly path: string;
  /** From this size on a document becomes a file. */
  readonly inlineBytes?: number | undefined;
}

export class DocumentFolder {
  readonly #path: string;
  readonly #inlineBytes: number;
  /** Jobs that have a folder, as far as this process made it. */
  readonly #made = new Set<string>();

  constructor({ path, inlineBytes = 256 * 1024 }: DocumentFolderOptions) {
    this.#path = path;
    this.#inlineBytes = inlineBytes;
  }

  /** The text to store: the document, or the name of a file that has it. */
  store(jobId: string, text: string): string | Promise<string> {
    // A character is at most three bytes, so that most documents need no count.
    if (text.length * 3 < this.#inlineBytes) return text;
    const bytes = Buffer.byteLength(text);
    if (bytes < this.#inlineBytes) return text;
    if (bytes > MAX_BYTES) throw failure('too_large', { bytes, max_bytes: MAX_BYTES });
    return this.#write(jobId, text, bytes);
  }

  load(stored: string): string | Promise<string> {
    return stored.startsWith(FILE_MARK) ? this.#read(stored) : stored;
  }

  async remove(jobId: string): Promise<void> {
    this.#made.delete(jobId);
    await rm(this.#folder(jobId), { recursive: true, force: true });
  }

  async discard(stored: string): Promise<void> {
    if (!stored.startsWith(FILE_MARK)) return;
    await rm(this.#find(stored).path, { force: true });
  }

  async #write(jobId: string, text: string, bytes: number): Promise<string> {
    const name = createHash('sha256').update(text).digest('hex');
    const folder = this.#folder(jobId);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      if (diskRoom(folder).room < bytes) throw diskFull(UNWRITTEN);
      await writeOwnFile(join(folder, name), text);
      await syncFolder(folder);
      if (!this.#made.has(jobId)) await syncFolder(dirname(folder));
      this.#made.add(jobId);
    } catch (cause) {
      throw unwritable(cause);
    }
    return `${FILE_MARK}${jobId}/${name}#${bytes}`;
  }

  async #read(stored: string): Promise<string> {
    const { jobId, name, path } = this.#find(stored);
    try {
      const text = await readFile(path, 'utf8');
      const hash = createHash('sha256').update(text).digest('hex');
      if (hash === name) return text;
      throw new Error('the file is damaged');
    } catch (cause) {
      throw failure('document_missing', { job_id: jobId }, { cause });
    }
  }

  #find(stored: string) {
    const [jobId = '', name = ''] = stored.slice(FILE_MARK.length).split(/[/#]/);
    return { jobId, name, path: join(this.#folder(jobId), name) };
  }

  /** Spread over folders: there may be a million jobs. */
  #folder(jobId: string): string {
    return join(this.#path, jobId.slice(0, 2), jobId);
  }
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

function unwritable(cause: unknown): FabricError {
  if (FabricError.is(cause)) return cause;
  if (isDiskFull(cause)) return diskFull(UNWRITTEN);
  return failure('engine_unavailable/document', {}, { cause });
}
