// What the owners of a session may change about it: state, metadata, who may do what.

import type { CoordinationStore, Json } from '@starloom/core';
import type { Caller } from '../agents/caller.ts';
import { isJsonObject, type JsonObject, jsonBytes } from '../json/json.ts';
import { mergePatch } from '../json/merge-patch.ts';
import { freeEverybody } from '../locks/free-locks.ts';
import { keyOf, META } from '../partitions.ts';
import { assertCount, assertSize } from '../quota/assert-quota.ts';
import type { CoordinationLimits } from '../quota/limits.ts';
import type { Sessions } from '../session.ts';
import type { Access, SessionAccess } from './session-access.ts';
import { memberSchema, type Role, type SessionMeta } from './session-record.ts';
import type { SessionTimers } from './session-timers.ts';

export interface SessionRightsOptions {
  readonly store: CoordinationStore;
  readonly limits: CoordinationLimits;
  readonly access: SessionAccess;
  readonly timers: SessionTimers;
  readonly sessions: Sessions;
}

/** Whom a right is about: an agent, or all agents of a principal. */
export interface Grantee {
  readonly member?: string | undefined;
  readonly principal?: string | undefined;
}

export class SessionRights {
  readonly #options: SessionRightsOptions;

  constructor(options: SessionRightsOptions) {
    this.#options = options;
  }

  async update(caller: Caller, sessionId: string, metadata: JsonObject): Promise<SessionMeta> {
    return await this.#change(caller, sessionId, 'session.updated', (meta) => {
      const merged = mergePatch(meta.metadata, metadata);
      assertSize('metadata_bytes', jsonBytes(merged), this.#options.limits);
      return { ...meta, metadata: isJsonObject(merged) ? merged : {} };
    });
  }

  /** Nobody writes or holds a lock until it is resumed, and its time stands still. */
  async suspend(caller: Caller, sessionId: string): Promise<SessionMeta> {
    const { store, timers } = this.#options;
    const meta = await this.#change(caller, sessionId, 'session.suspended', (before) => ({
      ...before,
      state: 'suspended',
    }));
    const { partition } = await this.#owner(caller, sessionId);
    await freeEverybody(store, partition);
    await timers.stop(sessionId);
    return meta;
  }

  async grant(caller: Caller, sessionId: string, to: Grantee, role: Role): Promise<SessionMeta> {
    const { limits } = this.#options;
    const meta = await this.#change(caller, sessionId, 'session.granted', (before) => {
      const agents = to.member === undefined ? {} : { [to.member]: role };
      const principals = to.principal === undefined ? {} : { [to.principal]: role };
      const access = {
        agents: { ...before.access.agents, ...agents },
        principals: { ...before.access.principals, ...principals },
      };
      const count = Object.keys(access.agents).length + Object.keys(access.principals).length;
      assertCount('members_per_session', count, limits);
      return { ...before, access };
    });
    if (to.member !== undefined) await this.#setRole(caller, sessionId, to.member, role);
    return meta;
  }

  /** Takes the right back; whoever is a member by it is one no longer. */
  async revoke(caller: Caller, sessionId: string, from: Grantee): Promise<SessionMeta> {
    const { sessions } = this.#options;
    const meta = await this.#change(caller, sessionId, 'session.revoked', (before) => ({
      ...before,
      access: {
        agents: without(before.access.agents, from.member),
        principals: without(before.access.principals, from.principal),
      },
    }));
    const access = await this.#owner(caller, sessionId);
    const { members } = await sessions.get(caller, sessionId);
    for (const { agent_id, principal } of members) {
      const isMeant = agent_id === from.member || principal === from.principal;
      if (isMeant && agent_id !== caller.agentId)
        await sessions.remove(access, agent_id, 'revoked');
    }
    return meta;
  }

  async #owner(caller: Caller, sessionId: string): Promise<Access> {
    return await this.#options.access.fresh(caller, sessionId, { role: 'owner' });
  }

  async #change(
    caller: Caller,
    sessionId: string,
    type: string,
    change: (meta: SessionMeta) => SessionMeta,
  ): Promise<SessionMeta> {
    for (;;) {
      const { partition, meta, guard } = await this.#owner(caller, sessionId);
      const value = change(meta);
      const event: Json = { type, agent_id: caller.agentId };
      const writes = [{ kind: 'put', key: META, value }] as const;
      const { ok } = await this.#options.store.commit(partition, { writes, event, ifKeys: guard });
      if (ok) return value;
    }
  }

  async #setRole(caller: Caller, sessionId: string, agentId: string, role: Role): Promise<void> {
    const { store } = this.#options;
    const { partition } = await this.#owner(caller, sessionId);
    const key = keyOf.member(agentId);
    for (;;) {
      const entry = (await store.read(partition, [key])).entries.get(key);
      if (entry === undefined) return;
      const value = { ...memberSchema.parse(entry.value), role };
      const event = { type: 'session.role_changed', agent_id: agentId, role };
      const writes = [{ kind: 'put', key, value }] as const;
      const ifKeys = new Map([[key, entry.version]]);
      if ((await store.commit(partition, { writes, event, ifKeys })).ok) return;
    }
  }
}

function without(
  roles: Readonly<Record<string, Role>>,
  id: string | undefined,
): Record<string, Role> {
  return Object.fromEntries(Object.entries(roles).filter(([name]) => name !== id));
}
