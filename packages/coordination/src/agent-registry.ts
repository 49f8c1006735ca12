// Registered agents. An agent is alive while the lease on its name is valid: heartbeats renew it,
// and its token is the epoch of the registration. The registry reads from the lease whether an
// agent is alive, never from a sweep.

import type { JsonObject } from '@starloom/core';
import {
  type AgentCapability,
  type AgentRecord,
  type AgentState,
  agentRecordSchema,
  isOffering,
  namesOf,
  readAgent,
  type ServedInstance,
  toJson,
} from './agents/agent-record.ts';
import { readOwner } from './agents/bindings.ts';
import type { Caller } from './agents/caller.ts';
import { CapabilityIndex } from './agents/presence.ts';
import type { Lease } from './coordination-store.ts';
import { jsonBytes } from './json/json.ts';
import { AGENTS, keyOf } from './partitions.ts';
import { assertSize } from './quota/limits.ts';
import { Meter } from './quota/meter.ts';
import { failure } from './reasons.ts';
import type { Services } from './services.ts';
import { inBatches } from './support/in-batches.ts';

type AgentRegistryOptions = Pick<
  Services,
  'store' | 'clock' | 'limits' | 'budgets' | 'bindings' | 'presence' | 'heartbeatIntervalMs'
>;

export interface Registration {
  readonly capabilities: readonly AgentCapability[];
  readonly name?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  /** As what the gateway serves its calls, if it does. */
  readonly instance?: ServedInstance | undefined;
}

/** Records that are read in one go. */
const PAGE = 128;
/** A heartbeat may be late by half an interval and a moment before the registration ends. */
const LATE_SHARE = 1.5;
const LATE_MS = 500;

/** When there is no room for one more, this part of all is forgotten at once: each takes a while. */
const FORGOTTEN_SHARE = 0.01;

export class AgentRegistry {
  readonly #options: AgentRegistryOptions;
  readonly #index: CapabilityIndex;
  readonly #meter: Meter;
  readonly #leaseMs: number;

  constructor(options: AgentRegistryOptions) {
    const { store, limits, heartbeatIntervalMs } = options;
    this.#options = options;
    this.#index = new CapabilityIndex(store);
    this.#leaseMs = Math.round(heartbeatIntervalMs * LATE_SHARE + LATE_MS);
    const fix = 'unregister agents that are not needed';
    this.#meter = new Meter({ limits, entries: 'agents', fix, freeShare: FORGOTTEN_SHARE });
  }

  /** Starts a new registration. An earlier one of the agent ends and loses all that it held. */
  async register(caller: Caller, registration: Registration) {
    const { agentId: agent_id } = caller;
    const { heartbeatIntervalMs: heartbeat_interval_ms } = this.#options;
    for (;;) {
      const epoch = await this.#start(caller, registration, 'registered');
      if (epoch !== undefined) return { agent_id, epoch, heartbeat_interval_ms };
      await this.#options.store.breakLease(AGENTS, agent_id);
    }
  }

  /**
   * The epoch under which the caller creates or joins a session. One that never registered is
   * registered by it, also again after its registration ended.
   */
  async takePart(caller: Caller): Promise<number> {
    const { agentId, onRegistered } = caller;
    for (;;) {
      const current = await this.#currentEpoch(caller);
      if (current !== undefined) return current;
      const stored = await readAgent(this.#options.store, agentId);
      if (stored && stored.record.source !== 'joined')
        throw registrationEnded(agentId, stored.record.epoch);
      const epoch = await this.#start(caller, { capabilities: [] }, 'joined');
      if (epoch === undefined) continue;
      onRegistered?.();
      return epoch;
    }
  }

  /**
   * For clients that cannot send heartbeats: a request of an agent that was registered by joining is
   * one. After its registration ended, it begins another and is back in its sessions.
   */
  async noteUse(caller: Caller): Promise<void> {
    const { store, clock, heartbeatIntervalMs } = this.#options;
    const stored = await readAgent(store, caller.agentId);
    if (stored?.record.source !== 'joined') return;
    const { epoch, last_seen } = stored.record;
    const isCurrent = (await this.#lease(caller.agentId))?.token === epoch;
    if (!isCurrent) await this.takePart(caller);
    else if (clock.now() - last_seen > heartbeatIntervalMs / 2) await this.heartbeat(caller);
  }

  /** The new epoch; `undefined` when the agent has a registration. */
  async #start(
    { agentId, principalId }: Caller,
    registration: Registration,
    source: AgentRecord['source'],
  ): Promise<number | undefined> {
    const { store, bindings, budgets, presence, clock, limits } = this.#options;
    const { capabilities, name = agentId, metadata = {}, instance } = registration;
    assertSize('metadata_bytes', jsonBytes(metadata), limits);
    const bytes = Buffer.byteLength(JSON.stringify([capabilities, metadata, name]));
    assertSize('value_bytes', bytes, limits);
    await bindings.bind(agentId, principalId);
    const agent = { agentId, bytes, capabilities: capabilities.length };
    await budgets.addAgent(principalId, agent, (ids, count) =>
      this.#forgetOwn(principalId, ids, count),
    );
    const before = (await readAgent(store, agentId))?.record;
    if (before === undefined) await this.#reserve();
    else if ((await this.#lease(agentId)) === undefined) {
      await presence.retire(agentId, before.epoch, 'heartbeat_missed');
    }
    const began = await store.acquire(AGENTS, {
      resource: agentId,
      holder: principalId,
      mode: 'exclusive',
      ttlMs: this.#leaseMs,
    });
    if (!('lease' in began)) return undefined;
    const { token: epoch } = began.lease;
    await presence.enter(agentId, epoch);
    const now = clock.now();
    const record: AgentRecord = {
      agent_id: agentId,
      name,
      capabilities: [...capabilities],
      metadata,
      status: 'active',
      epoch,
      registered_at: now,
      last_seen: now,
      source,
      ...(instance && { instance }),
    };
    await this.#index.add(agentId, epoch, namesOf(record));
    await this.#write(record, { type: 'agent.registered', agent_id: agentId, epoch });
    if (before) await this.#index.remove(agentId, before.epoch, namesOf(before));
    return epoch;
  }

  /** Without an epoch the heartbeat is for the present registration. */
  async heartbeat({ agentId, epoch }: Caller, status?: AgentState) {
    const { store, clock } = this.#options;
    const stored = await readAgent(store, agentId);
    if (stored === undefined) throw unknownAgent(agentId, 'agent_registry.register first');
    const token = epoch ?? stored.record.epoch;
    const lease = await store.renew(AGENTS, { resource: agentId, token }, this.#leaseMs);
    if (lease === undefined) throw registrationEnded(agentId, token);
    const { status: before, instance } = stored.record;
    const now = status ?? before;
    await this.#write({ ...stored.record, last_seen: clock.now(), epoch: token, status: now });
    return { status: now, next_before: lease.expiresAt, epoch: token, instance };
  }

  async unregister({ agentId, epoch }: Caller): Promise<{ unregistered: true }> {
    const { store, presence } = this.#options;
    const stored = await readAgent(store, agentId);
    if (stored === undefined) throw unknownAgent(agentId, 'none is needed: it is not registered');
    const token = epoch ?? stored.record.epoch;
    if (token !== stored.record.epoch) throw registrationEnded(agentId, token);
    await store.release(AGENTS, { resource: agentId, token });
    await presence.retire(agentId, token, 'unregistered');
    const event = { type: 'agent.unregistered', agent_id: agentId, epoch: token };
    await this.#delete(agentId, token, event);
    return { unregistered: true };
  }

  /** How long a registration lasts without a heartbeat. */
  get lifeMs(): number {
    return this.#leaseMs;
  }

  /** Of agents of other principals only what it takes to work with them. */
  async asSeenBy(
    { principalId }: Pick<Caller, 'principalId'>,
    agents: readonly AgentRecord[],
  ): Promise<readonly AgentRecord[]> {
    const ids = agents.map(({ agent_id }) => agent_id);
    const own = await this.#options.bindings.own(ids, principalId);
    return agents.map((agent) =>
      own.has(agent.agent_id) ? agent : { ...agent, name: agent.agent_id, metadata: {} },
    );
  }

  async list(status?: AgentState): Promise<readonly AgentRecord[]> {
    const { records, leases } = await this.#all();
    const agents = records.map((record) => withState(record, leases.get(record.agent_id)));
    return status === undefined ? agents : agents.filter((agent) => agent.status === status);
  }

  /** Those of the given agents that are known. */
  async some(agentIds: readonly string[]): Promise<readonly AgentRecord[]> {
    const found: AgentRecord[] = [];
    // One principal may have thousands, and ask for them again and again.
    for (let at = 0; at < agentIds.length; at += PAGE) {
      const keys = agentIds.slice(at, at + PAGE).map(keyOf.agent);
      const { entries } = await this.#options.store.read(AGENTS, keys);
      const records = [...entries.values()].map(({ value }) => agentRecordSchema.parse(value));
      const page = await inBatches(records, async (record) =>
        withState(record, await this.#lease(record.agent_id)),
      );
      found.push(...page);
    }
    return found;
  }

  async find(capability: string): Promise<readonly AgentRecord[]> {
    const agents = await this.some(await this.#index.find(capability));
    return agents.filter((agent) => isOffering(agent, capability));
  }

  /** The epoch under which the caller acts; 0 for an agent that never registered. */
  async epochOf(caller: Caller): Promise<number> {
    const current = await this.#currentEpoch(caller);
    if (current !== undefined) return current;
    const stored = await readAgent(this.#options.store, caller.agentId);
    if (stored) throw registrationEnded(caller.agentId, stored.record.epoch);
    return 0;
  }

  async alive(agentIds: readonly string[]): Promise<readonly string[]> {
    const leases = await inBatches(agentIds, (agentId) => this.#lease(agentId));
    return agentIds.filter((_, index) => leases[index] !== undefined);
  }

  /** Registrations that have ended but are not retired yet. */
  async overdue(): Promise<readonly AgentRecord[]> {
    const { records, leases } = await this.#all();
    return records.filter(({ agent_id, epoch, status }) => {
      return status !== 'inactive' && leases.get(agent_id)?.token !== epoch;
    });
  }

  async #reserve(): Promise<void> {
    const { store } = this.#options;
    const count = async () => (await store.read(AGENTS)).entries.size;
    await this.#meter.reserveOne(AGENTS, count, (number) => this.#forgetSome(number));
  }

  /** Agents of a principal that are gone, and ids of which nothing is left. */
  async #forgetOwn(principalId: string, ids: readonly string[], count: number): Promise<number> {
    const { budgets } = this.#options;
    const known = await this.some(ids);
    const left = new Set(known.map(({ agent_id }) => agent_id));
    const lost = ids.filter((id) => !left.has(id));
    await inBatches(lost, (id) => budgets.removeAgent(principalId, id));
    const gone = known.filter(({ status }) => status === 'inactive');
    return lost.length + (await this.#forget(gone, Math.max(0, count - lost.length)));
  }

  /** Agents that are gone, those first that were not seen for longest. Their names stay theirs. */
  async #forgetSome(count: number): Promise<number> {
    return await this.#forget(await this.list('inactive'), count);
  }

  async #forget(agents: readonly AgentRecord[], count: number): Promise<number> {
    const { presence } = this.#options;
    const gone = agents.toSorted((a, b) => a.last_seen - b.last_seen);
    const deleted = await inBatches(gone.slice(0, count), async ({ agent_id, epoch }) => {
      await presence.retire(agent_id, epoch, 'heartbeat_missed');
      return await this.#delete(agent_id, epoch);
    });
    return deleted.filter(Boolean).length;
  }

  /** False when another registration has started, or nothing is left of this one. */
  async #delete(agentId: string, epoch: number, event?: JsonObject): Promise<boolean> {
    const { store } = this.#options;
    const current = await readAgent(store, agentId);
    if (current?.record.epoch !== epoch) return false;
    const key = keyOf.agent(agentId);
    const ifKeys = new Map([[key, current.version]]);
    const writes = [{ kind: 'delete', key }] as const;
    const { ok } = await store.commit(AGENTS, { writes, ifKeys, event });
    const owner = ok ? await readOwner(store, agentId) : undefined;
    if (owner) await this.#options.budgets.removeAgent(owner.principalId, agentId);
    return ok;
  }

  /** Of the registration that has not ended; refused when the caller acts under another. */
  async #currentEpoch({ agentId, epoch }: Caller): Promise<number | undefined> {
    const lease = await this.#lease(agentId);
    if (lease !== undefined && (epoch === undefined || epoch === lease.token)) return lease.token;
    if (epoch !== undefined) throw registrationEnded(agentId, epoch);
    return undefined;
  }

  async #lease(agentId: string): Promise<Lease | undefined> {
    return (await this.#options.store.leases(AGENTS, agentId))[0];
  }

  async #all() {
    const { store } = this.#options;
    const [{ entries }, leases] = await Promise.all([store.read(AGENTS), store.leases(AGENTS)]);
    return {
      records: [...entries.values()].map(({ value }) => agentRecordSchema.parse(value)),
      leases: new Map(leases.map((lease) => [lease.resource, lease])),
    };
  }

  /** The store refuses it when the registration has ended. */
  async #write(record: AgentRecord, event?: JsonObject): Promise<void> {
    const { agent_id, epoch } = record;
    const writes = [{ kind: 'put', key: keyOf.agent(agent_id), value: toJson(record) }] as const;
    const fence = { resource: agent_id, token: epoch };
    const { ok } = await this.#options.store.commit(AGENTS, { writes, fence, event });
    if (!ok) throw registrationEnded(agent_id, epoch);
  }
}

function withState(record: AgentRecord, lease: Lease | undefined): AgentRecord {
  return lease?.token === record.epoch ? record : { ...record, status: 'inactive' };
}

function registrationEnded(agent_id: string, epoch: number) {
  return failure('stale_epoch', { agent_id, epoch });
}

function unknownAgent(agent_id: string, fix: string) {
  return failure('not_found/agent', { agent_id, fix });
}
