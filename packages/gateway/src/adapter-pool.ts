// One open adapter per agent, shared by its calls. When a manifest changes the old adapter takes no
// new calls and is closed when its last call has ended.

import { type Adapter, FabricError, type Log, type Manifest } from '@starloom/core';

export interface AdapterLease extends Disposable {
  readonly adapter: Adapter;
}

export interface AdapterPoolOptions {
  readonly open: (manifest: Manifest) => Promise<Adapter>;
  readonly log: Log;
}

interface Slot {
  readonly manifest: Manifest;
  readonly opening: Promise<Adapter>;
  /** Once it is open. */
  adapter?: Adapter;
  calls: number;
  retired: boolean;
}

export class AdapterPool {
  readonly #options: AdapterPoolOptions;
  readonly #slots = new Map<string, Slot>();
  readonly #closing = new Set<Promise<void>>();
  #closed = false;

  constructor(options: AdapterPoolOptions) {
    this.#options = options;
  }

  /** The adapter of this very manifest, kept open while the lease is held; at once when it is open. */
  lease(manifest: Manifest): AdapterLease | Promise<AdapterLease> {
    if (this.#closed) return Promise.reject(shuttingDown());
    const slot = this.#slotOf(manifest);
    slot.calls += 1;
    return slot.adapter ? this.#toLease(slot, slot.adapter) : this.#opened(slot);
  }

  async #opened(slot: Slot): Promise<AdapterLease> {
    try {
      slot.adapter = await slot.opening;
      return this.#toLease(slot, slot.adapter);
    } catch (error) {
      const { agent_id } = slot.manifest;
      this.#release(slot);
      this.retire(agent_id);
      throw FabricError.from(error).with({ agent_id, sent: false });
    }
  }

  #toLease(slot: Slot, adapter: Adapter): AdapterLease {
    return { adapter, [Symbol.dispose]: () => this.#release(slot) };
  }

  #release(slot: Slot): void {
    slot.calls -= 1;
    if (slot.retired && slot.calls === 0) this.#close(slot);
  }

  /** Lets go of an agent's adapter; calls in flight go on. */
  retire(agentId: string): void {
    const slot = this.#slots.get(agentId);
    if (!slot) return;
    this.#slots.delete(agentId);
    slot.retired = true;
    if (slot.calls === 0) this.#close(slot);
  }

  /** Closes every adapter, also under calls that are still open. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const [agentId, slot] of this.#slots) {
      this.#slots.delete(agentId);
      this.#close(slot);
    }
    await Promise.all(this.#closing);
  }

  #slotOf(manifest: Manifest): Slot {
    const slot = this.#slots.get(manifest.agent_id);
    if (slot?.manifest === manifest) return slot;
    this.retire(manifest.agent_id);
    const fresh = { manifest, opening: this.#options.open(manifest), calls: 0, retired: false };
    this.#slots.set(manifest.agent_id, fresh);
    return fresh;
  }

  #close(slot: Slot): void {
    const agent_id = slot.manifest.agent_id;
    const closing = slot.opening
      .then((adapter) => adapter.close())
      .catch((error: unknown) => {
        this.#options.log.debug({ agent_id, error: FabricError.from(error) }, 'adapter not closed');
      })
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

function shuttingDown(): FabricError {
  return new FabricError('OVERLOADED', 'The gateway is shutting down');
}
