// Documents that are too large for a row, as files: one folder per job, named by the hash of what they
// hold. A file is complete and synced before the row that names it is written.

import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FabricError, type JobDocuments } from '@starloom/core';

/** No JSON begins with it. */
const MARK = '\u0001file:';

export interface DocumentFolderOptions {
  readonly path: string;
  /** From this size on a document becomes a file. */
  readonly inlineBytes?: number;
  /** Larger ones are refused. */
  readonly maxBytes?: number;
}

export class DocumentFolder implements JobDocuments {
  readonly #path: string;
  readonly #inlineBytes: number;
  readonly #maxBytes: number;
  /** Jobs that have a folder, as far as this process made it. */
  readonly #made = new Set<string>();

  constructor({
    path,
    inlineBytes = 256 * 1024,
    maxBytes = 64 * 1024 * 1024,
  }: DocumentFolderOptions) {
    this.#path = path;
    this.#inlineBytes = inlineBytes;
    this.#maxBytes = maxBytes;
  }

  store(jobId: string, text: string): string | Promise<string> {
    // A character is at most three bytes, so that most documents need no count.
    if (text.length * 3 < this.#inlineBytes) return text;
    const bytes = Buffer.byteLength(text);
    if (bytes < this.#inlineBytes) return text;
    if (bytes > this.#maxBytes) throw tooLarge(bytes, this.#maxBytes);
    return this.#write(jobId, text);
  }

  load(stored: string): string | Promise<string> {
    return stored.startsWith(MARK) ? this.#read(stored.slice(MARK.length)) : stored;
  }

  async remove(jobId: string): Promise<void> {
    this.#made.delete(jobId);
    await rm(this.#folder(jobId), { recursive: true, force: true });
  }

  async #write(jobId: string, text: string): Promise<string> {
    const name = createHash('sha256').update(text).digest('hex');
    const folder = this.#folder(jobId);
    try {
      await mkdir(folder, { recursive: true });
      const path = join(folder, name);
      const temporary = `${path}.${crypto.randomUUID()}`;
      await using file = await open(temporary, 'wx');
      await file.writeFile(text);
      await file.sync();
      await rename(temporary, path);
      await syncFolder(folder);
      if (!this.#made.has(jobId)) await syncFolder(dirname(folder));
      this.#made.add(jobId);
    } catch (cause) {
      throw unwritable(cause);
    }
    return `${MARK}${jobId}/${name}`;
  }

  async #read(reference: string): Promise<string> {
    const [jobId = '', name = ''] = reference.split('/');
    try {
      const text = await readFile(join(this.#folder(jobId), name), 'utf8');
      const hash = createHash('sha256').update(text).digest('hex');
      if (hash === name) return text;
      throw new Error('the file is damaged');
    } catch (cause) {
      throw new FabricError('OVERLOADED', 'A document of the job cannot be read', {
        details: {
          reason: 'document_missing',
          job_id: jobId,
          fix: 'Set `jobs.documents` to a folder that all gateways share',
        },
        cause,
      });
    }
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

function tooLarge(bytes: number, maxBytes: number): FabricError {
  return new FabricError('UPSTREAM_ERROR', `A document of ${bytes} bytes is too large for a job`, {
    details: { reason: 'too_large', bytes, max_bytes: maxBytes, fix: 'Pass a link instead' },
  });
}

function unwritable(cause: unknown): FabricError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new FabricError('OVERLOADED', 'A document of the job cannot be written', {
    details: {
      reason: isFull ? 'disk_full' : 'engine_unavailable',
      fix: 'Free space on the disk of the state folder',
    },
    cause,
  });
}
