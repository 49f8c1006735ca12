import type { Json } from '@starloom/core';
import { expect } from 'vitest';
import type {
  Commit,
  CoordinationStore,
  Lease,
  LeaseRequest,
  StoredEvent,
} from '../../src/coordination-store.ts';

export interface CoordinationStoreSubject {
  /** Empty at first. */
  readonly store: CoordinationStore;
  /** How many events it keeps of a partition; at least 100. */
  readonly keepsEvents: number;
  /** How many bytes of their JSON; between 10,000 and 100,000. */
  readonly keepsEventBytes: number;
  /** Lets this much of the store's time pass. */
  advance(ms: number): Promise<void>;
  /** Frees what the test made; the contract closes the store itself. */
  close(): Promise<void>;
}

/** Partition `p` of a store, in few words. */
export class StoreScenario {
  readonly subject: CoordinationStoreSubject;
  readonly store: CoordinationStore;

  constructor(subject: CoordinationStoreSubject) {
    this.subject = subject;
    this.store = subject.store;
  }

  put(key: string, value: Json, more: Partial<Commit> = {}) {
    return this.store.commit('p', { writes: [{ kind: 'put', key, value }], ...more });
  }

  async values(keys?: readonly string[]): Promise<Record<string, Json>> {
    const { entries } = await this.store.read('p', keys);
    return Object.fromEntries([...entries].map(([key, { value }]) => [key, value]));
  }

  /** Asks for an exclusive lease of a second on `context`; `more` overrides that. */
  request(holder: string, more: Partial<LeaseRequest> = {}) {
    const request = { resource: 'context', mode: 'exclusive', ttlMs: 1000, holder } as const;
    return this.store.acquire('p', { ...request, ...more });
  }

  async acquire(holder: string, more: Partial<LeaseRequest> = {}): Promise<Lease> {
    const answer = await this.request(holder, more);
    return 'lease' in answer ? answer.lease : expect.fail(`${holder} did not get the lease`);
  }

  /** Stands in the queue for ten seconds; `more` overrides that. */
  async queue(holder: string, more: Partial<LeaseRequest> = {}) {
    const answer = await this.request(holder, { waitMs: 10_000, ...more });
    return 'queued' in answer ? answer.queued : expect.fail(`${holder} was not queued`);
  }

  async holders(resource?: string): Promise<string[]> {
    return (await this.store.leases('p', resource)).map(({ holder }) => holder);
  }

  async waiters(resource?: string): Promise<string[]> {
    return (await this.store.waiting('p', resource)).map(({ holder }) => holder);
  }

  async events(after = 0): Promise<readonly StoredEvent[]> {
    return (await this.store.events('p', after, 1000)).events;
  }

  /** Events without version and time. */
  async published(after = 0): Promise<Json[]> {
    return (await this.events(after)).map(({ event }) => event);
  }
}
