// An agent id belongs to the principal that used it first, until it was not used for a long time.

import { RecentMap } from '@starloom/core';
import type { CoordinationStore } from '../coordination-store.ts';
import { BINDINGS } from '../partitions.ts';
import { failure } from '../reasons.ts';
import type { Services } from '../services.ts';

const TRUSTED_MS = 60_000;
const REMEMBERED = 10_000;

type BindingsOptions = Pick<Services, 'store' | 'clock' | 'limits' | 'budgets'>;

export class Bindings {
  readonly #options: BindingsOptions;
  readonly #known = new RecentMap<{ principalId: string; until: number }>(REMEMBERED);

  constructor(options: BindingsOptions) {
    this.#options = options;
  }

  /** Refuses an id of another principal; an id that no principal has used yet passes. */
  async check(agentId: string, principalId: string): Promise<void> {
    const known = this.#known.get(agentId);
    if (known && known.until > this.#options.clock.monotonic()) {
      if (known.principalId !== principalId) throw takenFailure(agentId);
      return;
    }
    const owner = await readOwner(this.#options.store, agentId);
    if (owner === undefined) return;
    if (owner.principalId !== principalId) throw takenFailure(agentId);
    this.#remember(agentId, principalId);
  }

  /** As `check`, but an id that no principal has used yet becomes the principal's. */
  async use(agentId: string, principalId: string): Promise<void> {
    await this.check(agentId, principalId);
    if (this.#known.get(agentId) === undefined) await this.bind(agentId, principalId);
  }

  /** Makes the id the principal's, unless it belongs to another principal. */
  async bind(agentId: string, principalId: string): Promise<void> {
    const { store, limits, budgets } = this.#options;
    for (;;) {
      const owner = await readOwner(store, agentId);
      if (owner && owner.principalId !== principalId) throw takenFailure(agentId);
      if (owner === undefined) await budgets.reserveAgentId(principalId);
      const value = principalId;
      const put = { kind: 'put', key: agentId, value, ttlMs: limits.forget_agent_ms } as const;
      const ifKeys = new Map([[agentId, owner?.version ?? 0]]);
      const [{ ok }] = await Promise.all([
        store.commit(BINDINGS, { writes: [put], ifKeys }),
        budgets.addAgentId(principalId, agentId, limits.forget_agent_ms),
      ]);
      if (!ok) continue;
      this.#remember(agentId, principalId);
      return;
    }
  }

  async own(agentIds: readonly string[], principalId: string): Promise<ReadonlySet<string>> {
    if (agentIds.length === 0) return new Set();
    const { entries } = await this.#options.store.read(BINDINGS, agentIds);
    return new Set(agentIds.filter((agentId) => entries.get(agentId)?.value === principalId));
  }

  #remember(agentId: string, principalId: string): void {
    const until = this.#options.clock.monotonic() + TRUSTED_MS;
    this.#known.set(agentId, { principalId, until });
  }
}

export async function readOwner(
  store: CoordinationStore,
  agentId: string,
): Promise<{ readonly principalId: string; readonly version: number } | undefined> {
  const { entries } = await store.read(BINDINGS, [agentId]);
  const entry = entries.get(agentId);
  return entry && { principalId: String(entry.value), version: entry.version };
}

function takenFailure(agent_id: string) {
  return failure('agent_id_taken', { agent_id });
}
