// Sessions and who takes part in them. A member's entry and the roster change together with the
// notice of it; the index of an agent's sessions is written before and cleared after, so that it
// never lacks one.

import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@starloom/core';
import { type Caller, fromHolder } from './agents/caller.ts';
import type { Commit, Entry, Snapshot } from './coordination-store.ts';
import { jsonBytes } from './json/json.ts';
import { freeHolders } from './locks/free-locks.ts';
import { HEAD, keyOf, META, partitionOf, ROSTER } from './partitions.ts';
import { assertCount, assertSize, type CoordinationLimits } from './quota/limits.ts';
import { failure } from './reasons.ts';
import type { Services } from './services.ts';
import { type Access, accessKeys, noSession } from './session/session-access.ts';
import { SessionIndex } from './session/session-index.ts';
import {
  type AccessList,
  type Member,
  memberSchema,
  metaSchema,
  parseRoster,
  type Role,
  roleOnJoin,
  type SessionMeta,
} from './session/session-record.ts';
import { inBatches } from './support/in-batches.ts';

type SessionsOptions = Pick<
  Services,
  | 'store'
  | 'clock'
  | 'limits'
  | 'budgets'
  | 'access'
  | 'agents'
  | 'bindings'
  | 'presence'
  | 'timers'
  | 'ending'
>;

export interface NewSession {
  readonly session_id?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly mode?: SessionMeta['mode'] | undefined;
  readonly ttl_ms?: number | undefined;
  readonly open?: boolean | undefined;
  readonly access?: Partial<AccessList> | undefined;
  readonly parent?: SessionMeta['parent'] | undefined;
}

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #index: SessionIndex;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#index = new SessionIndex(options.store, options.limits);
  }

  async create(caller: Caller, wanted: NewSession): Promise<SessionMeta> {
    const { store, limits, timers, bindings, budgets, clock } = this.#options;
    const { agentId, principalId } = caller;
    const { session_id = randomUUID(), metadata = {}, access } = wanted;
    assertSize('metadata_bytes', jsonBytes(metadata), limits);
    await bindings.bind(agentId, principalId);
    const meta: SessionMeta = {
      session_id,
      mode: wanted.mode ?? 'lock',
      state: 'active',
      metadata,
      ttl_ms: wanted.ttl_ms ?? limits.session_ttl_ms,
      created_at: clock.now(),
      created_by: agentId,
      principal: principalId,
      open: wanted.open ?? false,
      access: { agents: access?.agents ?? {}, principals: access?.principals ?? {} },
      parent: wanted.parent ?? null,
    };
    const member = await this.#newMember(caller, 'owner');
    await budgets.addSession(principalId, session_id, jsonBytes(meta));
    await this.#index.add(caller, session_id);
    const { ok } = await store.commit(partitionOf.session(session_id), {
      writes: [
        { kind: 'put', key: META, value: meta },
        { kind: 'put', key: ROSTER, value: [agentId] },
        { kind: 'put', key: keyOf.member(agentId), value: member },
      ],
      event: { type: 'session.created', agent_id: agentId, mode: meta.mode },
      ifKeys: new Map([[META, 0]]),
    });
    if (!ok) throw await this.#exists(caller, session_id);
    await timers.start(session_id, meta.ttl_ms);
    await this.#index.announce(caller, session_id);
    await this.#catchUp(caller, member.epoch);
    await this.#options.access.fresh(caller, session_id, { role: 'owner' });
    return meta;
  }

  /** Joining again changes nothing, except that a returned agent acts under its new epoch. */
  async join(caller: Caller, sessionId: string, wanted?: Role): Promise<Access> {
    const { store, bindings, access, limits } = this.#options;
    const { agentId } = caller;
    const partition = partitionOf.session(sessionId);
    const key = keyOf.member(agentId);
    for (;;) {
      const snapshot = await store.read(partition, [...accessKeys(caller), ROSTER]);
      const role = roleFor(snapshot, caller, sessionId, wanted);
      await bindings.bind(agentId, caller.principalId);
      const member = await this.#newMember(caller, role);
      const before = snapshot.entries.get(key);
      if (before && isSameMember(before, member)) {
        return await access.fromSnapshot(snapshot, caller, sessionId, { role: 'reader' });
      }
      await this.#index.add(caller, sessionId);
      const { ok } = await store.commit(partition, toJoining(snapshot, member, limits));
      if (!ok) continue;
      await this.#index.announce(caller, sessionId);
      await this.#catchUp(caller, member.epoch);
      return await access.fresh(caller, sessionId, { role: 'reader' });
    }
  }

  /** The last one out ends the session. */
  async leave(caller: Caller, sessionId: string): Promise<{ ended: boolean }> {
    const { store, access } = this.#options;
    const admitted = await access.fresh(caller, sessionId, { role: 'reader' });
    const { partition, member } = admitted;
    await this.remove(admitted, member.agent_id, 'left');
    for (;;) {
      const { entries, version } = await store.read(partition, [ROSTER, META]);
      const isLast = parseRoster(entries.get(ROSTER)?.value).length === 0;
      if (!isLast || !entries.has(META)) return { ended: false };
      if (await this.#options.ending.endEmpty(sessionId, version)) return { ended: true };
    }
  }

  /** Takes a member out, with all that it holds. */
  async remove(
    { sessionId, partition }: Access,
    agentId: string,
    reason: string,
  ): Promise<boolean> {
    const { store } = this.#options;
    const key = keyOf.member(agentId);
    for (;;) {
      const { entries } = await store.read(partition, [key, ROSTER]);
      const entry = entries.get(key);
      if (entry === undefined) return false;
      const roster = parseRoster(entries.get(ROSTER)?.value).filter((id) => id !== agentId);
      const { ok } = await store.commit(partition, {
        writes: [
          { kind: 'delete', key },
          { kind: 'put', key: ROSTER, value: roster },
        ],
        event: { type: 'session.agent_left', agent_id: agentId, reason },
        ifKeys: new Map([
          [key, entry.version],
          [ROSTER, entries.get(ROSTER)?.version ?? 0],
        ]),
      });
      if (!ok) continue;
      const isMeant = (holder: string) => fromHolder(holder).agentId === agentId;
      await freeHolders(store, partition, isMeant, reason === 'left' ? 'released' : 'lost');
      const { principal: principalId } = memberSchema.parse(entry.value);
      await this.#index.remove({ agentId, principalId }, sessionId);
      return true;
    }
  }

  async get(caller: Caller, sessionId: string) {
    const { store, access } = this.#options;
    const { partition, meta, member } = await access.fresh(caller, sessionId, {
      role: 'reader',
      state: 'any',
    });
    const { entries } = await store.read(partition, [ROSTER]);
    const roster = parseRoster(entries.get(ROSTER)?.value);
    const snapshot = await store.read(partition, [HEAD, ...roster.map(keyOf.member)]);
    return {
      meta,
      role: member.role,
      members: membersIn(snapshot),
      version: snapshot.entries.get(HEAD)?.version ?? 0,
      cursor: snapshot.version,
    };
  }

  /** The ids of the sessions of an agent; it may be a member of them no longer. */
  async of(agentId: string): Promise<readonly string[]> {
    return await this.#index.of(agentId);
  }

  /** Those that are not over, or those that ended a moment ago. */
  async list(
    caller: Caller,
    which: 'open' | 'ended' = 'open',
  ): Promise<readonly { meta: SessionMeta; member: Member }[]> {
    const { store } = this.#options;
    const { agentId } = caller;
    const sessionIds = await (which === 'open'
      ? this.#index.of(agentId)
      : this.#index.endedOf(agentId));
    const found = await inBatches(sessionIds, async (sessionId) => {
      const { entries } = await store.read(partitionOf.session(sessionId), accessKeys(caller));
      const [meta, member] = accessKeys(caller).map((key) => entries.get(key)?.value);
      if (meta === undefined || member === undefined) return [];
      return [{ meta: metaSchema.parse(meta), member: memberSchema.parse(member) }];
    });
    return found.flat().filter(({ member }) => member.principal === caller.principalId);
  }

  async #newMember(caller: Caller, role: Role): Promise<Member> {
    const { agents, clock } = this.#options;
    const { agentId: agent_id, principalId: principal } = caller;
    const epoch = await agents.takePart(caller);
    const joined_at = clock.now();
    return { agent_id, principal, role, epoch, connected: true, joined_at, last_seen: null };
  }

  /**
   * The agent may have registered again meanwhile; that registration did not know of this session.
   */
  async #catchUp(caller: Caller, epoch: number): Promise<void> {
    const { agents, presence } = this.#options;
    const now = await agents.epochOf({ ...caller, epoch: undefined });
    if (now > epoch) await presence.enter(caller.agentId, now);
  }

  async #exists(caller: Caller, sessionId: string) {
    const { entries } = await this.#options.store.read(
      partitionOf.session(sessionId),
      accessKeys(caller),
    );
    if (!entries.has(keyOf.member(caller.agentId))) await this.#index.remove(caller, sessionId);
    const entry = entries.get(META);
    const meta = entry && metaSchema.parse(entry.value);
    if (meta?.principal !== caller.principalId)
      await this.#options.budgets.removeSession(caller.principalId, sessionId);
    const mayKnow = meta && roleOnJoin(meta, caller, undefined);
    const row = mayKnow === undefined ? 'id_unavailable' : 'session_exists';
    return failure(row, { session_id: sessionId });
  }
}

function membersIn({ entries }: Snapshot): readonly Member[] {
  return [...entries]
    .filter(([key]) => key !== HEAD)
    .map(([, { value }]) => memberSchema.parse(value));
}

/** The role in which the caller joins; a session it may not join does not exist for it. */
function roleFor(
  { entries }: Snapshot,
  caller: Caller,
  sessionId: string,
  wanted: Role | undefined,
): Role {
  const entry = entries.get(META);
  const meta = entry && metaSchema.parse(entry.value);
  const known = entries.get(keyOf.member(caller.agentId));
  const member = known && memberSchema.parse(known.value);
  if (meta === undefined || meta.state === 'ended') throw noSession(sessionId);
  if (member?.principal === caller.principalId && wanted === undefined) return member.role;
  const role = roleOnJoin(meta, caller, wanted);
  if (role === undefined) throw noSession(sessionId);
  return role;
}

/** Is the member already in the session as it would be after joining? */
function isSameMember({ value }: Entry, { role, epoch, principal }: Member): boolean {
  const before = memberSchema.parse(value);
  const isSameRegistration = before.epoch === epoch && before.connected;
  return isSameRegistration && before.role === role && before.principal === principal;
}

/** Member, roster and notice in one, on the session as the snapshot has it. */
function toJoining({ entries }: Snapshot, member: Member, limits: CoordinationLimits): Commit {
  const { agent_id, role, epoch } = member;
  const key = keyOf.member(agent_id);
  const roster = parseRoster(entries.get(ROSTER)?.value);
  const ids = roster.includes(agent_id) ? roster : [...roster, agent_id];
  assertCount('members_per_session', ids.length, limits);
  const readKeys = [META, ROSTER, key];
  return {
    writes: [
      { kind: 'put', key, value: member },
      { kind: 'put', key: ROSTER, value: ids },
    ],
    event: { type: 'session.agent_joined', agent_id, role, epoch },
    ifKeys: new Map(readKeys.map((name) => [name, entries.get(name)?.version ?? 0])),
  };
}
