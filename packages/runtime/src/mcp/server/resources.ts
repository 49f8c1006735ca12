// The files that `mcp.resources` of agent.json names, as MCP resources. A folder stands for the files
// in it. Names are URIs of our own, so that no path of the machine is revealed.

import { type Stats, watch } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Log } from '@starloom/core';
import { openFile, Roots } from '@starloom/wire/files';
import { walk } from '../../plugins/fs/walk.ts';
import { failure } from '../../reasons.ts';

interface ResourcesOptions {
  readonly paths: readonly string[];
  readonly folder: string;
  readonly agentId: string;
  readonly log: Log;
}

interface ResourceEntry {
  readonly uri: string;
  /** Its path below the agent's folder. */
  readonly name: string;
  readonly mimeType: string;
  readonly size: number;
}

const MAX_BYTES = 4_194_304;
const MAX_LISTED = 1_000;
const MAX_DEPTH = 8;
const SETTLE_MS = 100;

export class Resources {
  readonly #options: ResourcesOptions;
  readonly #roots: Roots;
  readonly #stopping = new AbortController();
  readonly #listeners = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #listed = '';

  private constructor(options: ResourcesOptions, roots: Roots) {
    this.#options = options;
    this.#roots = roots;
  }

  /** POLICY_DENIED when one of the paths is outside the agent's folder. */
  static async open(options: ResourcesOptions): Promise<Resources> {
    const resources = new Resources(options, await Roots.open([options.folder], '.'));
    resources.#listed = JSON.stringify(await resources.list());
    for (const path of options.paths) resources.#watch(await resources.#roots.locate(path));
    return resources;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async list(): Promise<ResourceEntry[]> {
    const entries = new Map<string, ResourceEntry>();
    for (const path of this.#options.paths) {
      for await (const [file, stats] of filesAt(this.#roots, await this.#roots.locate(path))) {
        if (entries.size >= MAX_LISTED) break;
        const entry = this.#toEntry(file, stats);
        entries.set(entry.uri, entry);
      }
    }
    return [...entries.values()];
  }

  /** Text as it is, anything else as base64; `undefined` when no such resource is listed. */
  async read(uri: string) {
    const entry = (await this.list()).find((known) => known.uri === uri);
    if (!entry) return undefined;
    if (entry.size > MAX_BYTES) throw failure('resource_too_large', { uri, limit: MAX_BYTES });
    const { handle } = await openFile(this.#roots, entry.name);
    try {
      const bytes = await handle.readFile();
      const { mimeType } = entry;
      const text = toText(bytes);
      if (text !== undefined) return { uri, mimeType, text };
      return { uri, mimeType, blob: bytes.toString('base64') };
    } finally {
      await handle.close();
    }
  }

  close(): void {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    this.#listeners.clear();
  }

  #toEntry(file: string, { size }: Stats): ResourceEntry {
    const name = this.#roots.show(file);
    const uri = `agent://${this.#options.agentId}/${name.split('/').map(encodeURIComponent).join('/')}`;
    return { uri, name, mimeType: MIME_TYPES[extname(file).toLowerCase()] ?? 'text/plain', size };
  }

  /** A missing file cannot be watched; it is listed at the next request after it appears. */
  #watch(path: string): void {
    const { signal } = this.#stopping;
    const note = (error: unknown) =>
      this.#options.log.debug({ error: String(error) }, 'a resource is not watched');
    try {
      const options = { persistent: false, recursive: true, signal };
      watch(path, options, () => this.#settle()).on('error', note);
    } catch (error) {
      note(error);
    }
  }

  #settle(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#compare();
    }, SETTLE_MS).unref();
  }

  async #compare(): Promise<void> {
    const listed = await this.list().then(JSON.stringify, () => this.#listed);
    if (listed === this.#listed) return;
    this.#listed = listed;
    for (const listener of [...this.#listeners]) listener();
  }
}

async function* filesAt(roots: Roots, path: string): AsyncGenerator<[string, Stats]> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isFile()) yield [path, stats];
  if (!stats?.isDirectory()) return;
  for await (const found of walk(roots, path, MAX_DEPTH, NEVER)) {
    if (found.entry.isFile()) yield [found.path, await lstat(found.path)];
  }
}

const NEVER = new AbortController().signal;

const MIME_TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
};

function toText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
