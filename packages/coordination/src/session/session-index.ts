// Which sessions an agent is a member of, and which the agents of a principal are in. Both may name
// one too many, but never lack one. The log of a principal tells of each change after it happened.

import type { CoordinationStore } from '@starloom/core';
import { partitionOf } from '../partitions.ts';
import { assertCount } from '../quota/assert-quota.ts';
import type { CoordinationLimits } from '../quota/limits.ts';

export interface Participant {
  readonly agentId: string;
  readonly principalId: string;
}

export class SessionIndex {
  readonly #store: CoordinationStore;
  readonly #limits: CoordinationLimits;

  constructor(store: CoordinationStore, limits: CoordinationLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  async of(agentId: string): Promise<readonly string[]> {
    const { entries } = await this.#store.read(partitionOf.agent(agentId));
    return [...entries.keys()];
  }

  /** The sessions of a principal, last joined first, each with those of its agents in it. */
  async ofPrincipal(principalId: string): Promise<ReadonlyMap<string, readonly string[]>> {
    const { entries } = await this.#store.read(partitionOf.principal(principalId));
    const sessions = new Map<string, string[]>();
    for (const [key] of [...entries].sort(([, a], [, b]) => b.version - a.version)) {
      const [sessionId = '', agentId = ''] = key.split(SEPARATOR);
      sessions.set(sessionId, [...(sessions.get(sessionId) ?? []), agentId]);
    }
    return sessions;
  }

  async add({ agentId, principalId }: Participant, sessionId: string): Promise<void> {
    const known = await this.of(agentId);
    const isKnown = known.includes(sessionId);
    if (!isKnown) assertCount('sessions_per_agent', known.length + 1, this.#limits);
    const writes = (key: string) => [{ kind: 'put', key, value: true }] as const;
    await Promise.all([
      isKnown || this.#store.commit(partitionOf.agent(agentId), { writes: writes(sessionId) }),
      this.#store.commit(partitionOf.principal(principalId), {
        writes: writes(toKey(sessionId, agentId)),
      }),
    ]);
  }

  /** The agent is a member now: tells those who follow the sessions of its principal. */
  async announce({ agentId, principalId }: Participant, sessionId: string): Promise<void> {
    const event = { type: 'principal.joined', session_id: sessionId, agent_id: agentId };
    await this.#store.commit(partitionOf.principal(principalId), { writes: [], event });
  }

  async remove({ agentId, principalId }: Participant, sessionId: string): Promise<void> {
    const writes = (key: string) => [{ kind: 'delete', key }] as const;
    const event = { type: 'principal.left', session_id: sessionId, agent_id: agentId };
    await Promise.all([
      this.#store.commit(partitionOf.agent(agentId), { writes: writes(sessionId) }),
      this.#store.commit(partitionOf.principal(principalId), {
        writes: writes(toKey(sessionId, agentId)),
        event,
      }),
    ]);
  }
}

/** No id holds it. */
const SEPARATOR = '/';

function toKey(sessionId: string, agentId: string): string {
  return `${sessionId}${SEPARATOR}${agentId}`;
}
