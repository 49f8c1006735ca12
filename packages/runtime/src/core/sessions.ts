// Sessions by id. One turn at a time uses a session. Sessions are kept on disk where there is a folder; some
// idle ones stay in memory, and without a folder the others are forgotten.

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, type Log, orAborted } from '@starloom/core';
import { failure } from '../reasons.ts';
import type { Labeller } from './seams.ts';
import { AgentSession, SessionFile } from './session.ts';

const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;
const ENDING = '.jsonl';
const MAX_IDLE = { onDisk: 256, inMemory: 10_000 };

export interface SessionsOptions {
  /** Absent: kept in memory only. */
  readonly folder?: string | undefined;
  readonly labeller: Labeller;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SessionSummary {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
}

interface Entry {
  session: Promise<AgentSession>;
  /** Ends when the last turn that waits or runs has ended. */
  tail: Promise<unknown>;
  users: number;
}

export class AgentSessions {
  readonly #options: SessionsOptions;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** The id of a new session. No other client has it yet, so no file is looked for. */
  create(): string {
    const id = crypto.randomUUID();
    const session = Promise.resolve(this.#begin(id));
    this.#entries.set(id, { session, tail: Promise.resolve(), users: 0 });
    return id;
  }

  /** Runs `work` alone on the session, after those that came before. */
  async use<T>(
    id: string,
    signal: AbortSignal,
    work: (session: AgentSession) => Promise<T>,
  ): Promise<T> {
    if (!SESSION_ID.test(id)) throw failure('session_id');
    const entry = this.#enter(id);
    const before = entry.tail;
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    entry.tail = before.then(() => left);
    try {
      await orAborted(before, signal);
      return await work(await entry.session);
    } finally {
      leave();
      entry.users -= 1;
      this.#forgetIdle();
    }
  }

  /** The newest first; empty without a folder. */
  async list(): Promise<SessionSummary[]> {
    const { folder } = this.#options;
    if (folder === undefined) return [];
    const names = await readdir(folder).catch(() => []);
    const found = names
      .filter((name) => name.endsWith(ENDING))
      .map(async (name) => {
        const { mtimeMs: updatedAt } = await stat(join(folder, name));
        return { id: name.slice(0, -ENDING.length), updatedAt };
      });
    return (await Promise.all(found)).toSorted((a, b) => b.updatedAt - a.updatedAt);
  }

  #enter(id: string): Entry {
    const known = this.#entries.get(id);
    const entry = known ?? { session: this.#open(id), tail: Promise.resolve(), users: 0 };
    if (!known) entry.session.catch(() => this.#entries.delete(id));
    entry.users += 1;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return entry;
  }

  async #open(id: string): Promise<AgentSession> {
    const { folder, labeller, log } = this.#options;
    if (folder === undefined) return new AgentSession(id);
    const file = this.#fileOf(id, folder);
    const found = await file.read().catch((cause) => {
      throw failure('session_unreadable', { session_id: id }, { cause });
    });
    if (found === undefined) return this.#begin(id);
    const session = new AgentSession(id, file);
    if (found.broken > 0) log.warn({ session_id: id, lines: found.broken }, 'lines left out');
    session.restore(found.lines, labeller);
    return session;
  }

  #begin(id: string): AgentSession {
    const { folder, clock } = this.#options;
    if (folder === undefined) return new AgentSession(id);
    const file = this.#fileOf(id, folder);
    file.begin({ kind: 'session', version: 1, id, at: clock.now() });
    return new AgentSession(id, file);
  }

  #fileOf(id: string, folder: string): SessionFile {
    return new SessionFile(join(folder, `${id}${ENDING}`));
  }

  #forgetIdle(): void {
    const limit = this.#options.folder === undefined ? MAX_IDLE.inMemory : MAX_IDLE.onDisk;
    if (this.#entries.size <= limit) return;
    for (const [id, { users }] of this.#entries) {
      if (users === 0) this.#entries.delete(id);
      if (this.#entries.size <= limit) return;
    }
  }
}
