// Sessions and their members. A member's entry and the roster change together with the
// notice of it; the index of an agent's sessions is written before and cleared after, so that it
// never lacks one.

import { randomUUID } from 'node:crypto';
import { type Caller, fromHolder } from './agents/caller.ts';
import type { Commit, Snapshot } from './coordination-store.ts';
import { jsonBytes } from './json/json.ts';
import { freeLocks } from './locks/free-locks.ts';
import type { CreateRequest } from './methods/session-manager.ts';
import { HEAD, keyOf, META, partitionOf, ROSTER } from './partitions.ts';
import { assertCount, assertSize, type CoordinationLimits } from './quota/limits.ts';
import { failure } from './reasons.ts';
import type { Services } from './services.ts';
import { type Access, accessKeys, noSession } from './session/session-access.ts';
import {
  type Member,
  memberIn,
  membersIn,
  metaIn,
  parseRoster,
  type Role,
  readWithMembers,
  roleOnJoin,
  type SessionMeta,
} from './session/session-record.ts';
import { changeEntries } from './support/change-entries.ts';
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
  | 'sessionIndex'
>;

type NewSession = Partial<CreateRequest> & Partial<Pick<SessionMeta, 'parent'>>;

export class Sessions {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
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
    await budgets.reserveSession(principalId, jsonBytes(meta));
    await this.#options.sessionIndex.add(caller, session_id);
    await budgets.addSession(principalId, session_id);
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
    await this.#options.sessionIndex.announce(caller, session_id);
    await this.#catchUp(caller, member.epoch);
    await this.#options.access.fresh(caller, session_id, { role: 'owner' });
    return meta;
  }

  /** Joining again changes nothing, except that a returned agent acts under its new epoch. */
  async join(caller: Caller, sessionId: string, wanted?: Role): Promise<Access> {
    const { store, bindings, access, limits } = this.#options;
    const { agentId } = caller;
    const partition = partitionOf.session(sessionId);
    for (;;) {
      const snapshot = await store.read(partition, [...accessKeys(caller), ROSTER]);
      const role = roleFor(snapshot, caller, sessionId, wanted);
      await bindings.bind(agentId, caller.principalId);
      const member = await this.#newMember(caller, role);
      const before = memberIn(snapshot, agentId);
      if (before && isSameMember(before, member)) {
        return await access.fromSnapshot(snapshot, caller, sessionId, { role: 'reader' });
      }
      const commit = toJoinCommit(snapshot, member, limits);
      await this.#options.sessionIndex.add(caller, sessionId);
      const { ok } = await store.commit(partition, commit);
      if (!ok) continue;
      await this.#options.sessionIndex.announce(caller, sessionId);
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

  async remove({ sessionId, partition }: Access, agentId: string, reason: string): Promise<void> {
    const { store, sessionIndex } = this.#options;
    const key = keyOf.member(agentId);
    const removed = await changeEntries(store, partition, [key, ROSTER], (current) => {
      const member = memberIn(current, agentId);
      if (member === undefined) return undefined;
      const roster = parseRoster(current.entries.get(ROSTER)?.value);
      return {
        member,
        writes: [
          { kind: 'delete', key },
          { kind: 'put', key: ROSTER, value: roster.filter((id) => id !== agentId) },
        ],
        event: { type: 'session.agent_left', agent_id: agentId, reason },
      };
    });
    if (removed === undefined) return;
    const how = reason === 'left' ? 'released' : 'lost';
    await freeLocks(store, partition, how, ({ holder }) => {
      return fromHolder(holder).agentId === agentId;
    });
    await sessionIndex.remove({ agentId, principalId: removed.member.principal }, sessionId);
  }

  async get(caller: Caller, sessionId: string) {
    const { store, access } = this.#options;
    const { partition, meta, member } = await access.fresh(caller, sessionId, {
      role: 'reader',
      state: 'any',
    });
    const snapshot = await readWithMembers(store, partition, [HEAD]);
    return {
      meta,
      role: member.role,
      members: membersIn(snapshot),
      version: snapshot.entries.get(HEAD)?.version ?? 0,
      cursor: snapshot.version,
    };
  }

  /** Those that are not over, or those that ended a moment ago. */
  async list(
    caller: Caller,
    which: 'open' | 'ended' = 'open',
  ): Promise<readonly { meta: SessionMeta; member: Member }[]> {
    const { store, sessionIndex: index } = this.#options;
    const { agentId } = caller;
    const sessionIds = await (which === 'open' ? index.of(agentId) : index.endedOf(agentId));
    const found = await inBatches(sessionIds, async (sessionId) => {
      const snapshot = await store.read(partitionOf.session(sessionId), accessKeys(caller));
      const [meta, member] = [metaIn(snapshot), memberIn(snapshot, agentId)];
      return meta && member ? [{ meta, member }] : [];
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
    const { store, sessionIndex } = this.#options;
    const snapshot = await store.read(partitionOf.session(sessionId), accessKeys(caller));
    if (!memberIn(snapshot, caller.agentId)) await sessionIndex.remove(caller, sessionId);
    const meta = metaIn(snapshot);
    if (meta?.principal !== caller.principalId)
      await this.#options.budgets.removeSession(caller.principalId, sessionId);
    const mayKnow = meta && roleOnJoin(meta, caller, undefined);
    const row = mayKnow === undefined ? 'id_unavailable' : 'session_exists';
    return failure(row, { session_id: sessionId });
  }
}

/** The role in which the caller joins; a session it may not join does not exist for it. */
function roleFor(
  snapshot: Snapshot,
  caller: Caller,
  sessionId: string,
  wanted: Role | undefined,
): Role {
  const meta = metaIn(snapshot);
  const member = memberIn(snapshot, caller.agentId);
  if (meta === undefined || meta.state === 'ended') throw noSession(sessionId);
  if (member?.principal === caller.principalId && wanted === undefined) return member.role;
  const role = roleOnJoin(meta, caller, wanted);
  if (role === undefined) throw noSession(sessionId);
  return role;
}

function isSameMember(before: Member, { role, epoch, principal }: Member): boolean {
  const isSameRegistration = before.epoch === epoch && before.connected;
  return isSameRegistration && before.role === role && before.principal === principal;
}

/** Member, roster and notice in one, on the session as the snapshot has it. */
function toJoinCommit({ entries }: Snapshot, member: Member, limits: CoordinationLimits): Commit {
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
