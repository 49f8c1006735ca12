// Which agents offer a capability, without looking at all of them. An entry is a hint: the reader
// checks the agent's record. An entry lasts as long as the registration that made it.

import type { CoordinationStore } from '../coordination-store.ts';
import { partitionOf } from '../partitions.ts';
import { inBatches } from '../support/in-batches.ts';

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
