// What one principal may hold, so that none uses up what all share. Sessions, agents, agent ids and
// scopes of the tool cache are listed in the principal's own partition; the bytes are what the store
// says that their partitions take. A session counts for the principal that created it, also when
// others write there. Subscriptions and waits are counted in this process.

import { RecentMap } from '@starloom/core';
import { partitionsBeside, partitionsOfScope } from './cache/cache-index.ts';
import type { Snapshot, Write } from './coordination-store.ts';
import { idsIn, keyOf, partitionOf, SESSIONS } from './partitions.ts';
import { type Amount, Meter } from './quota/meter.ts';
import { failure } from './reasons.ts';
import type { Services } from './services.ts';

type BudgetsOptions = Pick<Services, 'store' | 'clock' | 'limits'>;

type Running = 'subscriptions_per_principal' | 'waits_per_principal';

/** What a write takes beside its values: the event, names, versions. */
const WRITE_BYTES = 512;
const CAPABILITY_BYTES = 1_024;
const DAY_MS = 86_400_000;
const REMEMBERED = 10_000;

export class Budgets {
  readonly #options: BudgetsOptions;
  readonly #sessions: Meter;
  readonly #agents: Meter;
  readonly #agentIds: Meter;
  readonly #running = new Map<string, number>();
  readonly #agentsAt = new RecentMap<{ version: number; ids: readonly string[] }>(REMEMBERED);
  readonly #scopesListedAt = new RecentMap<number>(REMEMBERED);

  constructor(options: BudgetsOptions) {
    const { limits, clock } = options;
    this.#options = options;
    this.#sessions = new Meter({
      limits,
      clock,
      entries: 'sessions_per_principal',
      bytes: 'bytes_per_principal',
      fix: 'end sessions, or remove keys, chunks and checkpoints that are not needed',
    });
    const fix = 'unregister agents that are not needed';
    this.#agents = new Meter({
      limits,
      clock,
      entries: 'agents_per_principal',
      fix,
      freeShare: 0.01,
    });
    this.#agentIds = new Meter({
      limits,
      clock,
      entries: 'agent_ids_per_principal',
      fix: 'use the same agent ids again; one that is not used is free after a month',
    });
  }

  /** Refused with -32016 when the principal holds too much; nothing to wait for when it does not. */
  reserve(principalId: string, bytes: number): Promise<void> | undefined {
    return this.#reserve(principalId, { entries: 0, bytes: bytes + WRITE_BYTES });
  }

  /** Counts what is written without a reservation. */
  note(principalId: string, bytes = 0): void {
    this.#sessions.note(principalId, { entries: 0, bytes: bytes + WRITE_BYTES });
  }

  /** Refused as by `reserve`, also when the principal has too many sessions. */
  reserveSession(principalId: string, bytes: number): Promise<void> | undefined {
    return this.#reserve(principalId, { entries: 1, bytes: bytes + WRITE_BYTES });
  }

  /** To be called before the session is created, when nothing but its id can refuse it any more. */
  async addSession(principalId: string, sessionId: string): Promise<void> {
    await this.#write(principalId, { kind: 'put', key: sessionKey(sessionId), value: true });
  }

  /** Nothing is left of it. */
  async removeSession(principalId: string, sessionId: string): Promise<void> {
    await this.#write(principalId, { kind: 'delete', key: sessionKey(sessionId) });
  }

  /** `forgetSome` makes room: it forgets agents of these ids that are gone, and says how many. */
  async addAgent(
    principalId: string,
    agent: { readonly agentId: string; readonly bytes: number; readonly capabilities: number },
    forgetSome: (agentIds: readonly string[], count: number) => Promise<number>,
  ): Promise<void> {
    const key = agentKey(agent.agentId);
    const value = agent.bytes + CAPABILITY_BYTES * agent.capabilities;
    await this.reserve(principalId, value);
    if (!(await this.#read(principalId, [key])).entries.has(key)) {
      let ids: readonly string[] = [];
      const count = async () => {
        ids = idsIn(await this.#read(principalId), agentKey(''));
        return ids.length;
      };
      await this.#agents.reserveOne(principalId, count, (number) => forgetSome(ids, number));
    }
    await this.#write(principalId, { kind: 'put', key, value });
  }

  async removeAgent(principalId: string, agentId: string): Promise<void> {
    await this.#write(principalId, { kind: 'delete', key: agentKey(agentId) });
  }

  /** The agents that the principal has registered, also those that are gone but not forgotten. */
  async agentsOf(principalId: string): Promise<readonly string[]> {
    const { version } = await this.#read(principalId, []);
    const known = this.#agentsAt.get(principalId);
    if (known?.version === version) return known.ids;
    const snapshot = await this.#read(principalId);
    const ids = idsIn(snapshot, agentKey(''));
    this.#agentsAt.set(principalId, { version: snapshot.version, ids });
    return ids;
  }

  /** To be called before a new agent id becomes the principal's. */
  async reserveAgentId(principalId: string): Promise<void> {
    await this.#agentIds.reserveOne(principalId, async () => {
      return idsIn(await this.#read(principalId), idKey('')).length;
    });
  }

  async addAgentId(principalId: string, agentId: string, ttlMs: number): Promise<void> {
    await this.#write(principalId, { kind: 'put', key: idKey(agentId), value: true, ttlMs });
  }

  /** A scope of the tool cache that is the principal's own. */
  async addCacheScope(principalId: string, scope: string): Promise<void> {
    const now = this.#options.clock.monotonic();
    const listedAt = this.#scopesListedAt.get(scope);
    if (listedAt !== undefined && now - listedAt < DAY_MS) return;
    const ttlMs = this.#options.limits.forget_agent_ms;
    await this.#write(principalId, { kind: 'put', key: scopeKey(scope), value: true, ttlMs });
    this.#scopesListedAt.set(scope, now);
  }

  /** Counts one more of what runs in this process, until it is disposed of. */
  run(principalId: string, limit: Running): Disposable {
    const name = `${limit}/${principalId}`;
    const count = this.#running.get(name) ?? 0;
    const allowed = this.#options.limits[limit];
    if (count >= allowed) {
      throw failure('quota', { limit, allowed, held: { entries: count, bytes: 0 } });
    }
    this.#running.set(name, count + 1);
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        const left = (this.#running.get(name) ?? 1) - 1;
        if (left > 0) this.#running.set(name, left);
        else this.#running.delete(name);
      },
    };
  }

  #reserve(principalId: string, more: Amount): Promise<void> | undefined {
    return this.#sessions.reserve({
      name: principalId,
      more,
      measure: async () => ({ now: await this.#measure(principalId) }),
    });
  }

  async #measure(principalId: string): Promise<Amount> {
    const { store } = this.#options;
    const snapshot = await this.#read(principalId);
    const listed = idsIn(snapshot, sessionKey(''));
    const { entries: open } = await store.read(SESSIONS, listed.map(keyOf.openSession));
    const sessions = listed.filter((id) => open.has(keyOf.openSession(id)));
    const scopes = idsIn(snapshot, scopeKey(''));
    const agents = [...snapshot.entries].filter(([key]) => key.startsWith(agentKey('')));
    const partitions = [
      partitionOf.idempotency(principalId),
      partitionOf.budget(principalId),
      ...sessions.map(partitionOf.session),
      ...sessions.flatMap(partitionsBeside),
      ...scopes.flatMap(partitionsOfScope),
    ];
    const ofAgents = agents.reduce((total, [, { value }]) => total + Number(value), 0);
    return { entries: sessions.length, bytes: ofAgents + (await store.size(partitions)) };
  }

  async #read(principalId: string, keys?: readonly string[]): Promise<Snapshot> {
    return await this.#options.store.read(partitionOf.budget(principalId), keys);
  }

  async #write(principalId: string, write: Write): Promise<void> {
    await this.#options.store.commit(partitionOf.budget(principalId), { writes: [write] });
  }
}

const sessionKey = (sessionId: string) => `session/${sessionId}`;
const agentKey = (agentId: string) => `agent/${agentId}`;
const idKey = (agentId: string) => `id/${agentId}`;
const scopeKey = (scope: string) => `scope/${scope}`;
