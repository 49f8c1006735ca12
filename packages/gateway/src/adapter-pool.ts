// One open adapter per instance of an agent, shared by its calls. When a manifest changes the old adapter takes no
// new calls and is closed when its last call has ended.

import { type Adapter, FabricError, instanceKey, type Log, type Manifest } from '@starloom/core';
import { failure } from './reasons.ts';

export interface AdapterLease extends Disposable {
  readonly adapter: Adapter;
}

interface AdapterPoolOptions {
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
  /** Something else than probes of its health used it. */
  isUsed: boolean;
}

export class AdapterPool {
  readonly #options: AdapterPoolOptions;
  readonly #slots = new Map<Manifest, Slot>();
  readonly #byInstance = new Map<string, Slot>();
  readonly #closing = new Set<Promise<void>>();
  #closed = false;

  constructor(options: AdapterPoolOptions) {
    this.#options = options;
  }

  /** The adapter of this very manifest, kept open while the lease is held; at once when it is open. */
  lease(manifest: Manifest): AdapterLease | Promise<AdapterLease> {
    if (this.#closed) return Promise.reject(failure('shutting_down'));
    const slot = this.#slotOf(manifest);
    slot.calls += 1;
    slot.isUsed = true;
    return slot.adapter ? this.#toLease(slot, slot.adapter) : this.#opened(slot);
  }

  /**
   * The same for a look at its health. What was opened for it alone is closed after it: probes leave no
   * sessions and no processes behind.
   */
  async probe(manifest: Manifest): Promise<AdapterLease> {
    if (this.#closed) throw failure('shutting_down');
    const slot = this.#slotOf(manifest);
    slot.calls += 1;
    const { adapter } = slot.adapter ? this.#toLease(slot, slot.adapter) : await this.#opened(slot);
    const end = () => {
      this.release(slot);
      if (!slot.isUsed && slot.calls === 0 && !slot.retired) this.#retireSlot(slot);
    };
    return { adapter, [Symbol.dispose]: end };
  }

  /** Whether it is open for calls, so that a probe starts nothing. */
  isOpen(manifest: Manifest): boolean {
    return this.#slots.has(manifest);
  }

  async #opened(slot: Slot): Promise<AdapterLease> {
    try {
      slot.adapter = await slot.opening;
      return this.#toLease(slot, slot.adapter);
    } catch (error) {
      const { agent_id } = slot.manifest;
      this.release(slot);
      this.#retireSlot(slot);
      throw FabricError.from(error).with({ agent_id, sent: false });
    }
  }

  #toLease(slot: Slot, adapter: Adapter): AdapterLease {
    return new SlotLease(this, slot, adapter);
  }

  /** A lease of the slot ends. */
  release(slot: Slot): void {
    slot.calls -= 1;
    if (slot.retired && slot.calls === 0) this.#close(slot);
  }

  /** Lets go of the adapters of an agent, but for these manifests; calls in flight go on. */
  retire(agentId: string, except: readonly Manifest[] = []): void {
    for (const slot of [...this.#slots.values()]) {
      const { manifest } = slot;
      if (manifest.agent_id === agentId && !except.includes(manifest)) this.#retireSlot(slot);
    }
  }

  #retireSlot(slot: Slot): void {
    const key = instanceKey(slot.manifest);
    if (this.#slots.get(slot.manifest) === slot) this.#slots.delete(slot.manifest);
    if (this.#byInstance.get(key) === slot) this.#byInstance.delete(key);
    if (slot.retired) return;
    slot.retired = true;
    if (slot.calls === 0) this.#close(slot);
  }

  /** Closes every adapter, also under calls that are still open. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const [manifest, slot] of this.#slots) {
      this.#slots.delete(manifest);
      this.#close(slot);
    }
    await Promise.all(this.#closing);
  }

  #slotOf(manifest: Manifest): Slot {
    const known = this.#slots.get(manifest);
    if (known) return known;
    const key = instanceKey(manifest);
    const older = this.#byInstance.get(key);
    if (older) this.#retireSlot(older);
    const opening = this.#options.open(manifest);
    const fresh = { manifest, opening, calls: 0, retired: false, isUsed: false };
    this.#slots.set(manifest, fresh);
    this.#byInstance.set(key, fresh);
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

/** A class, since every call makes one: an object with a function of its own costs far more. */
class SlotLease implements AdapterLease {
  readonly adapter: Adapter;
  readonly #pool: AdapterPool;
  readonly #slot: Slot;

  constructor(pool: AdapterPool, slot: Slot, adapter: Adapter) {
    this.adapter = adapter;
    this.#pool = pool;
    this.#slot = slot;
  }

  [Symbol.dispose](): void {
    this.#pool.release(this.#slot);
  }
}
