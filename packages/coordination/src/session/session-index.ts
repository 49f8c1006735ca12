import type { CoordinationStore } from '@starloom/core';
import { partitionOf } from '../partitions.ts';
import { assertCount } from '../quota/assert-quota.ts';
import type { CoordinationLimits } from '../quota/limits.ts';

/** Which sessions an agent is a member of. It may name one too many, but never lacks one. */
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

  async add(agentId: string, sessionId: string): Promise<void> {
    const known = await this.of(agentId);
    if (known.includes(sessionId)) return;
    assertCount('sessions_per_agent', known.length + 1, this.#limits);
    const writes = [{ kind: 'put', key: sessionId, value: true }] as const;
    await this.#store.commit(partitionOf.agent(agentId), { writes });
  }

  async remove(agentId: string, sessionId: string): Promise<void> {
    const writes = [{ kind: 'delete', key: sessionId }] as const;
    await this.#store.commit(partitionOf.agent(agentId), { writes });
  }
}
