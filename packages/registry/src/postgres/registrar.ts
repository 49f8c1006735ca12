import {
  assertCurrent,
  type Clock,
  type HealthEntry,
  type InstanceEpoch,
  type Manifest,
  parseManifest,
  type RegisterOptions,
  type Registrant,
  type Registrar,
  type Registration,
  staleEpoch,
} from '@starloom/core';
import { GroupBatches } from '@starloom/wire';
import type { Operation, Outcome } from './operations.ts';
import type { RegistryStore, Written } from './store.ts';

interface PostgresRegistrarOptions {
  readonly store: RegistryStore;
  readonly clock: Clock;
  /** Resolves when the tables are there. */
  readonly ready: () => Promise<void>;
  /** Awaited before the writers learn that it is done. */
  readonly onWritten: (written: Written) => Promise<void>;
  readonly noteExpired: (agentId: string, nodeId: string) => void;
}

const MAX_BATCH = 500;

interface Renewal {
  readonly instance: InstanceEpoch;
  readonly by: Registrant;
}

export class PostgresRegistrar implements Registrar {
  readonly #options: PostgresRegistrarOptions;
  readonly #writes = new GroupBatches<Operation, Outcome>(MAX_BATCH, (batch) => this.#write(batch));
  readonly #renewals = new GroupBatches<Renewal, number | undefined>(MAX_BATCH, (batch) =>
    this.#renew(batch),
  );

  constructor(options: PostgresRegistrarOptions) {
    this.#options = options;
  }

  async register(
    given: Manifest,
    by: Registrant,
    options: RegisterOptions = {},
  ): Promise<Registration> {
    const manifest = parseManifest(given);
    const { revision } = await this.#do({ kind: 'register', manifest, by, options });
    const { agent_id, node_id } = manifest;
    return { agent_id, node_id, epoch: revision, lease_ms: options.leaseMs ?? 0, revision };
  }

  async renew(instance: InstanceEpoch, by: Registrant): Promise<{ readonly expiresAt: number }> {
    const expiresAt = await this.#renewals.add({ instance, by });
    if (expiresAt !== undefined) return { expiresAt };
    const agents = await this.#options.store.load([instance.agent_id]);
    assertCurrent(instance, by, agents.get(instance.agent_id) ?? []);
    throw staleEpoch(instance);
  }

  async drain(instance: InstanceEpoch, by: Registrant): Promise<void> {
    await this.#do({ kind: 'drain', instance, by });
  }

  async leave(instance: InstanceEpoch, by: Registrant): Promise<void> {
    await this.#do({ kind: 'leave', instance, by });
  }

  async remove(agentId: string, nodeId: string | undefined, by: Registrant): Promise<boolean> {
    return (await this.#do({ kind: 'remove', agentId, nodeId, by })).isChanged;
  }

  async history(agentId: string, limit: number): Promise<readonly HealthEntry[]> {
    await this.#options.ready();
    return await this.#options.store.history(agentId, limit);
  }

  /** Ends the leases that ran out. Several gateways may do it: one of them writes it. */
  async sweep(): Promise<void> {
    const { store, clock, noteExpired } = this.#options;
    const overdue = await store.expired(clock.now());
    await Promise.all(
      overdue.map(async (instance) => {
        const { isChanged } = await this.#do({ kind: 'expire', instance });
        if (isChanged) noteExpired(instance.agent_id, instance.node_id);
      }),
    );
  }

  async idle(): Promise<void> {
    await Promise.all([this.#writes.idle(), this.#renewals.idle()]);
  }

  async #do(operation: Operation): Promise<Extract<Outcome, { ok: true }>> {
    const outcome = await this.#writes.add(operation);
    if (!outcome.ok) throw outcome.error;
    return outcome;
  }

  async #write(batch: readonly Operation[]): Promise<readonly Outcome[]> {
    const { store, clock, ready, onWritten } = this.#options;
    await ready();
    const written = await store.write(batch, clock.now());
    await onWritten(written);
    return written.outcomes;
  }

  async #renew(batch: readonly Renewal[]): Promise<readonly (number | undefined)[]> {
    const { store, clock, ready } = this.#options;
    await ready();
    return await store.renew(batch, clock.now());
  }
}
