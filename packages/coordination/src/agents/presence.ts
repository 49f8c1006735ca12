// Registrations of agents in their sessions. A registration is a lease on the agent's name, and its
// epoch is the token of that lease. An agent has one registration at a time, and a later one has a
// larger epoch. The store ends a registration when no heartbeat renews it. Any process may repeat
// what is done here until it is complete. The other members of a session still receive one notice,
// since the notice and the member change together.

import type { Json } from '@starloom/core';
import { agentCacheScope, principalCacheScope, sessionCacheScope } from '../cache/cache-index.ts';
import type { CoordinationStore } from '../coordination-store.ts';
import { freeLocks } from '../locks/free-locks.ts';
import { AGENTS, keyOf, META, partitionOf } from '../partitions.ts';
import type { Services } from '../services.ts';
import { type Member, memberIn, metaIn } from '../session/session-record.ts';
import { changeEntries } from '../support/change-entries.ts';
import { inBatches } from '../support/in-batches.ts';
import { type AgentRecord, agentIn, namesOf, readAgent, toJson } from './agent-record.ts';
import { readOwner } from './bindings.ts';
import { fromHolder } from './caller.ts';

export type LossReason = 'heartbeat_missed' | 'unregistered';

type PresenceOptions = Pick<Services, 'store' | 'clock' | 'limits' | 'sessionIndex'>;

export class Presence {
  readonly #options: PresenceOptions;
  readonly #store: CoordinationStore;
  readonly #index: CapabilityIndex;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#index = new CapabilityIndex(options.store);
  }

  /** Clears an ended registration: frees its leases, notifies sessions, sets the agent inactive. */
  async retire(agentId: string, epoch: number, reason: LossReason): Promise<void> {
    const stored = await readAgent(this.#store, agentId);
    const record = stored?.record.epoch === epoch ? stored.record : undefined;
    if (record?.status === 'inactive') return;
    const last_seen = record?.last_seen ?? this.#options.clock.now();
    const before = await this.#endOf(agentId, epoch);
    await this.#inSessions(agentId, async (sessionId) => {
      await this.#change(sessionId, agentId, (member) => {
        if (member.epoch !== epoch || !member.connected) return undefined;
        const event = { type: 'session.agent_disconnected', agent_id: agentId, reason, last_seen };
        return { member: { ...member, connected: false, last_seen }, event };
      });
      await this.#free(sessionId, agentId, epoch);
      await this.#freeCache(sessionCacheScope(sessionId), agentId, before);
    });
    await this.#freeOwnCaches(agentId, before);
    if (record === undefined) return;
    await this.#index.remove(agentId, epoch, namesOf(record));
    await this.#markInactive(record);
  }

  /** A new registration takes the place of the old one in all sessions of the agent. */
  async enter(agentId: string, epoch: number): Promise<void> {
    await this.#inSessions(agentId, async (sessionId) => {
      await this.#change(sessionId, agentId, (member) => {
        if (member.epoch >= epoch) return undefined;
        const event = { type: 'session.agent_returned', agent_id: agentId, epoch };
        return { member: { ...member, epoch, connected: true }, event };
      });
      await this.#free(sessionId, agentId, epoch - 1);
      await this.#freeCache(sessionCacheScope(sessionId), agentId, epoch);
    });
    await this.#freeOwnCaches(agentId, epoch);
  }

  async #inSessions(agentId: string, work: (sessionId: string) => Promise<void>): Promise<void> {
    await inBatches(await this.#options.sessionIndex.of(agentId), work);
  }

  /** Frees what the agent held under this epoch and under earlier ones. */
  async #free(sessionId: string, agentId: string, epoch: number): Promise<void> {
    await freeLocks(this.#store, partitionOf.session(sessionId), 'lost', ({ holder }) => {
      const held = fromHolder(holder);
      return held.agentId === agentId && held.epoch <= epoch;
    });
  }

  /** The epoch of a later registration, if there is one: what that one claims has larger tokens. */
  async #endOf(agentId: string, epoch: number): Promise<number> {
    const [lease] = await this.#store.leases(AGENTS, agentId);
    return lease && lease.token > epoch ? lease.token : Number.POSITIVE_INFINITY;
  }

  /** Frees what the agent was about to compute; another agent may do so now. */
  async #freeCache(scope: string, agentId: string, before: number): Promise<void> {
    await freeLocks(this.#store, partitionOf.cache(scope), 'released', ({ holder, number }) => {
      return holder === agentId && number < before;
    });
  }

  async #freeOwnCaches(agentId: string, before: number): Promise<void> {
    const owner = await readOwner(this.#store, agentId);
    if (owner === undefined) return;
    const { principalId } = owner;
    const scopes = [principalCacheScope(principalId), agentCacheScope({ principalId, agentId })];
    await inBatches(scopes, (scope) => this.#freeCache(scope, agentId, before));
  }

  /** Changes a member of an open session unless `decide` finds nothing to do. */
  async #change(
    sessionId: string,
    agentId: string,
    decide: (member: Member) => { member: Member; event: Json } | undefined,
  ): Promise<void> {
    const key = keyOf.member(agentId);
    await changeEntries(this.#store, partitionOf.session(sessionId), [META, key], (current) => {
      const state = metaIn(current)?.state ?? 'ended';
      const before = memberIn(current, agentId);
      const change = before && state !== 'ended' ? decide(before) : undefined;
      if (change === undefined) return undefined;
      return { writes: [{ kind: 'put', key, value: change.member }], event: change.event };
    });
  }

  async #markInactive({ agent_id, epoch }: AgentRecord): Promise<void> {
    const key = keyOf.agent(agent_id);
    const ttlMs = this.#options.limits.forget_agent_ms;
    await changeEntries(this.#store, AGENTS, [key], (current) => {
      const record = agentIn(current, agent_id)?.record;
      if (record?.epoch !== epoch) return undefined;
      const value = toJson({ ...record, status: 'inactive' });
      const event = { type: 'agent.inactive', agent_id, epoch };
      return { writes: [{ kind: 'put', key, value, ttlMs }], event };
    });
  }
}

/**
 * Which agents offer a capability, without looking at all of them. An entry is a hint: the reader
 * checks the agent's record. An entry lasts as long as the registration that made it.
 */
export class CapabilityIndex {
  readonly #store: CoordinationStore;

  constructor(store: CoordinationStore) {
    this.#store = store;
  }

  async add(agentId: string, epoch: number, capabilities: readonly string[]): Promise<void> {
    const writes = [{ kind: 'put', key: agentId, value: epoch }] as const;
    await inBatches(capabilities, (name) =>
      this.#store.commit(partitionOf.capability(name), { writes }),
    );
  }

  /** Leaves the entries of a later registration. */
  async remove(agentId: string, epoch: number, capabilities: readonly string[]): Promise<void> {
    const writes = [{ kind: 'delete', key: agentId }] as const;
    await inBatches(capabilities, async (name) => {
      const partition = partitionOf.capability(name);
      const { entries } = await this.#store.read(partition, [agentId]);
      const entry = entries.get(agentId);
      if (entry === undefined || Number(entry.value) > epoch) return;
      await this.#store.commit(partition, { writes, ifKeys: new Map([[agentId, entry.version]]) });
    });
  }

  async find(capability: string): Promise<readonly string[]> {
    const { entries } = await this.#store.read(partitionOf.capability(capability));
    return [...entries.keys()];
  }
}
