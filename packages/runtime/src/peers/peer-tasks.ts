// The tasks that this agent gave to others, as far as they can be gone on with: what names each at its peer. On
// disk before the peer works on it, where the agent keeps state, so that a task outlives a restart or a crash.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type AgentHandle, tryParseJson } from '@starloom/core';
import { z } from 'zod';

const recordSchema = z.object({
  id: z.string(),
  peer: z.string(),
  /** `running`: joined when it is resumed; `asking`: answered; `done`: its conversation goes on. */
  state: z.enum(['running', 'asking', 'done']),
  skill: z.string().optional(),
  /** The first words of what was asked, for people. */
  about: z.string(),
  at: z.number(),
  handle: z.record(z.string(), z.unknown()),
  /** Ids of the open questions. */
  questions: z.array(z.string()).optional(),
});

export type PeerRecord = z.infer<typeof recordSchema> & { readonly handle: AgentHandle };

const FILE = 'peer-tasks.json';
const MAX_TASKS = 200;

export class PeerTasks {
  readonly #path: string | undefined;
  readonly #records: Map<string, PeerRecord>;

  /** Absent folder: in memory alone. */
  constructor(folder: string | undefined) {
    this.#path = folder === undefined ? undefined : join(folder, FILE);
    this.#records = new Map(readRecords(this.#path).map((record) => [record.id, record]));
  }

  get(id: string): PeerRecord | undefined {
    return this.#records.get(id);
  }

  /** The newest first. */
  list(): PeerRecord[] {
    return [...this.#records.values()].toReversed();
  }

  /** On disk when it returns. The oldest that is over makes room, then the oldest of all. */
  keep(record: PeerRecord): void {
    this.#records.delete(record.id);
    this.#records.set(record.id, record);
    if (this.#records.size > MAX_TASKS) {
      const all = [...this.#records.values()];
      const oldest = all.find(({ state }) => state === 'done') ?? all[0];
      if (oldest) this.#records.delete(oldest.id);
    }
    this.#write();
  }

  forget(id: string): void {
    if (this.#records.delete(id)) this.#write();
  }

  #write(): void {
    if (this.#path === undefined) return;
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    const fresh = `${this.#path}.${process.pid}.tmp`;
    writeFileSync(fresh, JSON.stringify([...this.#records.values()]), { mode: 0o600 });
    renameSync(fresh, this.#path);
  }
}

function readRecords(path: string | undefined): PeerRecord[] {
  if (path === undefined) return [];
  try {
    const listed =
      z.array(z.unknown()).safeParse(tryParseJson(readFileSync(path, 'utf8'))).data ?? [];
    return listed.flatMap((record) => recordSchema.safeParse(record).data ?? []);
  } catch {
    return [];
  }
}
