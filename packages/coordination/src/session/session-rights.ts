// What the owners of a session may change about it: its state, and the roles of agents and principals.

import type { Json } from '@starloom/core';
import type { Caller } from '../agents/caller.ts';
import { freeLocks } from '../locks/free-locks.ts';
import { keyOf, META } from '../partitions.ts';
import { assertCount } from '../quota/limits.ts';
import type { Services } from '../services.ts';
import { changeEntries } from '../support/change-entries.ts';
import type { Access } from './session-access.ts';
import {
  type Member,
  memberIn,
  metaIn,
  ownRole,
  type Role,
  readMembers,
  roleByPrincipal,
  type SessionMeta,
} from './session-record.ts';

type SessionRightsOptions = Pick<Services, 'store' | 'limits' | 'access' | 'timers' | 'sessions'>;

export interface Grantee {
  readonly member?: string | undefined;
  readonly principal?: string | undefined;
}

interface Change {
  readonly partition: string;
  readonly before: SessionMeta;
  readonly after: SessionMeta;
}

export class SessionRights {
  readonly #options: SessionRightsOptions;

  constructor(options: SessionRightsOptions) {
    this.#options = options;
  }

  /** No agent writes or holds a lock until it is resumed, and its time stands still. */
  async suspend(caller: Caller, sessionId: string): Promise<SessionMeta> {
    const { store, timers } = this.#options;
    const change = await this.#change(caller, sessionId, 'session.suspended', (meta) => ({
      ...meta,
      state: 'suspended',
    }));
    await freeLocks(store, change.partition, 'lost');
    await timers.stop(sessionId);
    return change.after;
  }

  /** Members have the role at once, but one that was given to an agent itself goes first. */
  async grant(caller: Caller, sessionId: string, to: Grantee, role: Role): Promise<SessionMeta> {
    const { store, limits } = this.#options;
    const change = await this.#change(caller, sessionId, 'session.granted', (meta) => {
      const agents = to.member === undefined ? {} : { [to.member]: role };
      const principals = to.principal === undefined ? {} : { [to.principal]: role };
      const access = {
        agents: { ...meta.access.agents, ...agents },
        principals: { ...meta.access.principals, ...principals },
      };
      const count = Object.keys(access.agents).length + Object.keys(access.principals).length;
      assertCount('members_per_session', count, limits);
      return { ...meta, access };
    });
    const { partition, before, after } = change;
    for (const { agent_id, principal } of await readMembers(store, partition)) {
      if (agent_id === to.member) {
        await this.#setRole(partition, agent_id, (member, meta) =>
          ownRole(meta.access.agents, member.agent_id),
        );
      } else if (principal === to.principal && agent_id !== caller.agentId) {
        await this.#setRole(partition, agent_id, (member, meta) =>
          roleByPrincipal(member, before, meta),
        );
      }
    }
    return after;
  }

  /** Takes the right back; an agent that is a member by it is one no longer. */
  async revoke(caller: Caller, sessionId: string, from: Grantee): Promise<SessionMeta> {
    const { sessions } = this.#options;
    const { after } = await this.#change(caller, sessionId, 'session.revoked', (meta) => ({
      ...meta,
      access: {
        agents: without(meta.access.agents, from.member),
        principals: without(meta.access.principals, from.principal),
      },
    }));
    const access = await this.#owner(caller, sessionId);
    const { members } = await sessions.get(caller, sessionId);
    for (const { agent_id, principal } of members) {
      const isMeant = agent_id === from.member || principal === from.principal;
      if (isMeant && agent_id !== caller.agentId)
        await sessions.remove(access, agent_id, 'revoked');
    }
    return after;
  }

  async #owner(caller: Caller, sessionId: string): Promise<Access> {
    return await this.#options.access.fresh(caller, sessionId, { role: 'owner' });
  }

  async #change(
    caller: Caller,
    sessionId: string,
    type: string,
    change: (meta: SessionMeta) => SessionMeta,
  ): Promise<Change> {
    for (;;) {
      const { partition, meta: before, guard } = await this.#owner(caller, sessionId);
      const after = change(before);
      const event: Json = { type, agent_id: caller.agentId };
      const writes = [{ kind: 'put', key: META, value: after }] as const;
      const { ok } = await this.#options.store.commit(partition, { writes, event, ifKeys: guard });
      if (ok) return { partition, before, after };
    }
  }

  /** By the session as it is then: of several grants at once, the last one counts. */
  async #setRole(
    partition: string,
    agentId: string,
    decide: (member: Member, meta: SessionMeta) => Role | undefined,
  ): Promise<void> {
    const key = keyOf.member(agentId);
    await changeEntries(this.#options.store, partition, [META, key], (current) => {
      const [meta, member] = [metaIn(current), memberIn(current, agentId)];
      const role = meta && member && decide(member, meta);
      if (role === undefined || role === member?.role) return undefined;
      return {
        writes: [{ kind: 'put', key, value: { ...member, role } }],
        event: { type: 'session.role_changed', agent_id: agentId, role },
      };
    });
  }
}

function without(
  roles: Readonly<Record<string, Role>>,
  id: string | undefined,
): Record<string, Role> {
  return Object.fromEntries(Object.entries(roles).filter(([name]) => name !== id));
}
