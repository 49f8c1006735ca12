// What agents said they offer, kept in one file across restarts. An entry counts only while the
// manifest names the same agent: its version and how it is reached. The file is a convenience: when it cannot be read or written, agents are
// asked as if there were none.

import { readFile } from 'node:fs/promises';
import {
  type Capability,
  canonicalJson,
  capabilitySchema,
  FabricError,
  type Log,
  type Manifest,
  sha256Hex,
} from '@starloom/core';
import { writeOwnFile } from '@starloom/wire';
import { z } from 'zod';

/** What agents said in earlier runs. */
export interface DiscoveredCapabilities {
  get(manifest: Manifest): readonly Capability[] | undefined;
  set(manifest: Manifest, capabilities: readonly Capability[]): void;
  forget(agentId: string): void;
}

const entrySchema = z.object({ manifest: z.string(), capabilities: z.array(capabilitySchema) });
const fileSchema = z.object({ version: z.literal(1), agents: z.record(z.string(), entrySchema) });

type Entry = z.infer<typeof entrySchema>;

const WRITE_AFTER_MS = 200;
const MAX_FILE_LENGTH = 64 * 1024 ** 2;

/** Opens the file; one that is missing or damaged counts as empty. */
export async function openDiscoveredFile(path: string, log: Log): Promise<DiscoveredFile> {
  return new DiscoveredFile(path, await readEntries(path, log), log);
}

export class DiscoveredFile implements DiscoveredCapabilities {
  readonly #path: string;
  readonly #entries: Map<string, Entry>;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string, entries: Map<string, Entry>, log: Log) {
    this.#path = path;
    this.#entries = entries;
    this.#log = log;
  }

  get(manifest: Manifest): readonly Capability[] | undefined {
    const entry = this.#entries.get(manifest.agent_id);
    return entry?.manifest === digestOf(manifest) ? entry.capabilities : undefined;
  }

  set(manifest: Manifest, capabilities: readonly Capability[]): void {
    const before = this.get(manifest);
    if (before && JSON.stringify(before) === JSON.stringify(capabilities)) return;
    const entry = { manifest: digestOf(manifest), capabilities: [...capabilities] };
    this.#entries.set(manifest.agent_id, entry);
    this.#writeSoon();
  }

  forget(agentId: string): void {
    if (this.#entries.delete(agentId)) this.#writeSoon();
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    if (this.#timer !== undefined) this.#write();
    await this.#writing;
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => this.#write(), WRITE_AFTER_MS).unref();
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#replaceFile());
  }

  async #replaceFile(): Promise<void> {
    const text = JSON.stringify({ version: 1, agents: Object.fromEntries(this.#entries) });
    try {
      if (text.length > MAX_FILE_LENGTH) throw new Error(`longer than ${MAX_FILE_LENGTH}`);
      await writeOwnFile(this.#path, text);
    } catch (error) {
      this.#log.warn({ path: this.#path, error }, 'discovered tools could not be saved');
    }
  }
}

async function readEntries(path: string, log: Log): Promise<Map<string, Entry>> {
  try {
    const file = fileSchema.parse(JSON.parse(await readFile(path, 'utf8')));
    return new Map(Object.entries(file.agents));
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isMissing)
      log.warn({ path, error: FabricError.from(error) }, 'saved tools are not usable');
    return new Map();
  }
}

/** Secrets stand in a manifest by reference; those written out are only hashed. */
function digestOf({ endpoint, version }: Manifest): string {
  return sha256Hex(canonicalJson({ endpoint, version }, { loneSurrogates: 'escape' }));
}
