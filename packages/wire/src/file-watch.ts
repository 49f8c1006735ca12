// Reports that a file changed and has been stable since. Events of its folder (editors and Kubernetes
// put a new file or link in its place) are only hints to look. A slow poll finds changes without an event,
// such as a link higher up that points elsewhere now, or those of a network file system.

import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Log } from '@starloom/core';

interface FileWatchOptions {
  readonly path: string;
  /** The state that is known already. */
  readonly known: string;
  readonly onChange: () => void;
  readonly log: Log;
  /** How long the file must be stable: it may be half written. */
  readonly settleMs?: number;
  readonly pollMs?: number;
}

/** Which file this is and which state of it; also when there is none. */
export async function fingerprintOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(':');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
}

export class FileWatch {
  readonly #options: FileWatchOptions;
  readonly #settleMs: number;
  readonly #poll: NodeJS.Timeout;
  readonly #folder: FSWatcher | undefined;
  #settling: NodeJS.Timeout | undefined;
  #known: string;
  #candidate: { readonly fingerprint: string; readonly since: number } | undefined;
  #closed = false;

  constructor(options: FileWatchOptions) {
    const { known, settleMs = 100, pollMs = 2000 } = options;
    this.#options = options;
    this.#known = known;
    this.#settleMs = settleMs;
    this.#poll = setInterval(() => void this.#look(), pollMs).unref();
    this.#folder = this.#watchFolder();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#poll);
    clearTimeout(this.#settling);
    this.#folder?.close();
  }

  #watchFolder(): FSWatcher | undefined {
    const { path, log } = this.#options;
    const onError = (error: unknown) => {
      log.warn({ path, error }, 'the folder cannot be watched; changes are found by polling');
    };
    try {
      const onHint = () => this.#lookSoon();
      return watch(dirname(path), { persistent: false }, onHint).on('error', onError);
    } catch (error) {
      onError(error);
      return undefined;
    }
  }

  #lookSoon(): void {
    if (this.#closed) return;
    this.#settling ??= setTimeout(() => {
      this.#settling = undefined;
      void this.#look();
    }, this.#settleMs).unref();
  }

  async #look(): Promise<void> {
    const fingerprint = await fingerprintOf(this.#options.path);
    if (this.#closed) return;
    if (fingerprint === this.#known) {
      this.#candidate = undefined;
      return;
    }
    if (fingerprint !== this.#candidate?.fingerprint) {
      this.#candidate = { fingerprint, since: performance.now() };
    }
    if (performance.now() - this.#candidate.since < this.#settleMs) return this.#lookSoon();
    this.#known = fingerprint;
    this.#candidate = undefined;
    this.#options.onChange();
  }
}
