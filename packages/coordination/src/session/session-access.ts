// May this caller do this in this session? A session that does not exist and one that the caller
// has no part in get the same answer. What was found is kept for writes only, and every such write
// carries `guard`: the store refuses it when session or member have changed since.

import { RecentMap } from '@starloom/core';
import { type Caller, toHolder } from '../agents/caller.ts';
import type { CoordinationStore, Snapshot } from '../coordination-store.ts';
import { HEAD, keyOf, META, partitionOf } from '../partitions.ts';
import { failure } from '../reasons.ts';
import type { SessionTimers } from './session-end.ts';
import {
  isRoleEnough,
  type Member,
  memberIn,
  metaIn,
  type Role,
  type SessionMeta,
} from './session-record.ts';

export interface Access {
  readonly sessionId: string;
  readonly partition: string;
  readonly caller: Caller;
  readonly meta: SessionMeta;
  readonly member: Member;
  /** The name of the agent, under this epoch, in the locks of the session. */
  readonly holder: string;
  readonly guard: ReadonlyMap<string, number>;
}

export interface Need {
  readonly role: Role;
  /** By default the session must be active or suspended. */
  readonly state?: 'active' | 'any';
}

const REMEMBERED = 10_000;

export class SessionAccess {
  readonly #store: CoordinationStore;
  readonly #timers: SessionTimers;
  readonly #known = new RecentMap<Access>(REMEMBERED);

  constructor(store: CoordinationStore, timers: SessionTimers) {
    this.#store = store;
    this.#timers = timers;
  }

  /** As the store has it now. */
  async fresh(caller: Caller, sessionId: string, need: Need): Promise<Access> {
    const snapshot = await this.#store.read(partitionOf.session(sessionId), accessKeys(caller));
    return await this.fromSnapshot(snapshot, caller, sessionId, need);
  }

  /** From a snapshot that holds at least `accessKeys`. */
  async fromSnapshot(
    snapshot: Snapshot,
    caller: Caller,
    sessionId: string,
    need: Need,
  ): Promise<Access> {
    const access = toAccess(snapshot, caller, sessionId);
    if (access) this.#known.set(idOf(caller, sessionId), access);
    const admitted = admit(access, caller, sessionId, need);
    if (isSuspended(admitted, need)) throw await this.#suspendedFailure(admitted);
    if (admitted.meta.state === 'active') await this.#timers.touch(admitted.meta);
    if (admitted.meta.state !== 'ended') await caller.onAdmitted?.(sessionId, admitted.holder);
    return admitted;
  }

  /** As it was lately: for writes that carry the guard. */
  async recent(caller: Caller, sessionId: string, need: Need): Promise<Access> {
    const known = this.#known.get(idOf(caller, sessionId));
    if (known && !this.#timers.isDue(known.meta)) {
      const admitted = tryAdmit({ ...known, caller }, sessionId, need);
      await (admitted && caller.onAdmitted?.(sessionId, admitted.holder));
      if (admitted) return admitted;
    }
    return await this.fresh(caller, sessionId, need);
  }

  forget(caller: Caller, sessionId: string): void {
    this.#known.delete(idOf(caller, sessionId));
  }

  async #suspendedFailure({ sessionId, partition, meta: { state } }: Access) {
    const { entries } = await this.#store.read(partition, [HEAD]);
    return failure('session_suspended', {
      session_id: sessionId,
      state,
      current_version: entries.get(HEAD)?.version ?? 0,
      current: { state },
    });
  }
}

export function accessKeys({ agentId }: Caller): [string, string] {
  return [META, keyOf.member(agentId)];
}

/** Did a commit fail because session or member are no longer what they were? */
export function isOutdated({ guard }: Access, current: Snapshot): boolean {
  return [...guard].some(([key, version]) => (current.entries.get(key)?.version ?? 0) !== version);
}

function toAccess(snapshot: Snapshot, caller: Caller, sessionId: string): Access | undefined {
  const meta = metaIn(snapshot);
  const member = memberIn(snapshot, caller.agentId);
  if (meta === undefined || member === undefined) return undefined;
  return {
    sessionId,
    partition: partitionOf.session(sessionId),
    caller,
    meta,
    member,
    holder: toHolder(member.agent_id, member.epoch),
    guard: new Map(accessKeys(caller).map((key) => [key, snapshot.entries.get(key)?.version ?? 0])),
  };
}

function admit(access: Access | undefined, caller: Caller, sessionId: string, need: Need): Access {
  if (access === undefined || access.member.principal !== caller.principalId) {
    throw noSession(sessionId);
  }
  const { meta, member } = access;
  if (meta.state === 'ended' && need.state !== 'any') throw noSession(sessionId);
  assertEpoch(member, caller);
  const { agent_id, role } = member;
  const needed = need.role;
  if (!isRoleEnough(role, needed)) throw failure('role_too_low', { agent_id, role, needed });
  return access;
}

/** Remembered access may be outdated; then the caller reads it again before it refuses. */
function tryAdmit(access: Access, sessionId: string, need: Need): Access | undefined {
  try {
    const admitted = admit(access, access.caller, sessionId, need);
    return isSuspended(admitted, need) ? undefined : admitted;
  } catch {
    return undefined;
  }
}

function isSuspended({ meta }: Access, need: Need): boolean {
  return meta.state === 'suspended' && need.state === 'active';
}

function assertEpoch({ agent_id, epoch, connected }: Member, caller: Caller): void {
  if (connected && (caller.epoch === undefined || caller.epoch === epoch)) return;
  throw failure('stale_epoch', { agent_id, current_epoch: epoch });
}

export function noSession(session_id: string) {
  return failure('not_found/session', { session_id });
}

function idOf({ agentId }: Caller, sessionId: string): string {
  return `${sessionId}\n${agentId}`;
}
