// Random operations on a store, each held against the model in its answer and in all it leaves.

import fc from 'fast-check';
import { expect } from 'vitest';
import type { Commit, CoordinationStore, Lease } from '../src/coordination-store.ts';
import { ModelPartition } from './store-model.ts';
import { type CommitPlan, PARTITIONS, RESOURCES, type Step, step } from './store-steps.ts';

export const MODEL_KEEPS_EVENTS = 5;
export const MODEL_START = Date.UTC(2026, 0, 1);

/** Seeds are the same for all engines. */
export const MODEL_SEEDS = [1, 2, 3] as const;

export interface ModelSubject {
  /** Keeps MODEL_KEEPS_EVENTS events; its time is MODEL_START. */
  readonly store: CoordinationStore;
  advance(ms: number): Promise<void>;
  /** The same store after a restart, where there is such a thing. */
  reopen?(): Promise<CoordinationStore>;
  close(): Promise<void>;
}

export async function checkAgainstModel(
  open: () => Promise<ModelSubject>,
  { seed, runs }: { readonly seed: number; readonly runs: number },
): Promise<void> {
  const property = fc.asyncProperty(
    fc.array(step, { maxLength: 60, size: 'max' }),
    async (steps) => {
      const subject = await open();
      const run = new ModelRun(subject);
      try {
        for (const one of steps) await run.take(one);
      } finally {
        await run.store.close();
        await subject.close();
      }
    },
  );
  await fc.assert(property, { seed, numRuns: runs, interruptAfterTimeLimit: 120_000 });
}

class ModelRun {
  readonly #subject: ModelSubject;
  readonly #models = new Map(
    PARTITIONS.map((name) => [name, new ModelPartition(MODEL_KEEPS_EVENTS)]),
  );
  store: CoordinationStore;
  #now = MODEL_START;

  constructor(subject: ModelSubject) {
    this.#subject = subject;
    this.store = subject.store;
  }

  async take(one: Step): Promise<void> {
    const model = this.#model(one.partition);
    const [expected, actual] = await this.#answers(one, model);
    expect(actual, JSON.stringify(one)).toEqual(expected);
    for (const name of PARTITIONS) await this.#compare(name);
  }

  async #compare(name: string): Promise<void> {
    const model = this.#model(name);
    expect(await this.store.read(name)).toEqual(model.read(this.#now));
    expect(await this.store.events(name, 0, 100)).toEqual(model.events(0, 100));
    expect(byToken(await this.store.leases(name))).toEqual(byToken(model.leases(this.#now)));
    for (const resource of RESOURCES) {
      const waiting = model.waiting(this.#now).filter((place) => place.resource === resource);
      expect(await this.store.waiting(name, resource)).toEqual(waiting);
    }
  }

  /** What the model says, and what the store says. */
  async #answers(one: Step, model: ModelPartition): Promise<readonly [unknown, unknown]> {
    const { store } = this;
    const { partition } = one;
    const now = this.#now;
    switch (one.kind) {
      case 'commit': {
        const commit = toCommit(one.commit, now, model);
        return [model.commit(now, commit), await store.commit(partition, commit)];
      }
      case 'acquireAndCommit': {
        const { fence: _, ...commit } = toCommit(one.commit, now, model);
        const expected = model.acquireAndCommit(now, one.request, commit);
        return [expected, await store.acquireAndCommit(partition, one.request, commit)];
      }
      case 'acquire':
        return [model.acquire(now, one.request), await store.acquire(partition, one.request)];
      case 'renew': {
        const lease = pick(model.granted, one.lease);
        if (!lease) return [undefined, undefined];
        return [model.renew(now, lease, one.ttlMs), await store.renew(partition, lease, one.ttlMs)];
      }
      case 'release': {
        const lease = pick(model.granted, one.lease);
        if (!lease) return [undefined, undefined];
        return [model.release(now, lease), await store.release(partition, lease)];
      }
      case 'breakLease': {
        const token = one.lease === undefined ? undefined : pick(model.granted, one.lease)?.token;
        const expected = model.breakLease(now, one.resource, token);
        return [expected, await store.breakLease(partition, one.resource, token)];
      }
      case 'cancelWait': {
        const ticket = pick(model.tickets, one.ticket) ?? 'none';
        return [model.cancelWait(now, ticket), await store.cancelWait(partition, ticket)];
      }
      case 'events': {
        const expected = model.events(one.after, one.limit);
        return [expected, await store.events(partition, one.after, one.limit)];
      }
      case 'drop':
        return [model.drop(), await store.drop(partition)];
      case 'tick':
        for (const each of this.#models.values()) each.settle(now);
        return [undefined, await store.tick()];
      case 'advance':
        this.#now += one.ms;
        return [undefined, await this.#subject.advance(one.ms)];
      case 'reopen':
        this.store = (await this.#subject.reopen?.()) ?? store;
        return [undefined, undefined];
    }
  }

  #model(name: string): ModelPartition {
    return this.#models.get(name) ?? expect.fail(`no model of ${name}`);
  }
}

function toCommit(plan: CommitPlan, now: number, model: ModelPartition): Commit {
  const { writes, event, ifVersion, ifKeys, ifKeysOff, fence, idempotency } = plan;
  const { version, entries } = model.read(now);
  return {
    writes,
    event,
    ifVersion: ifVersion === undefined ? undefined : version + ifVersion,
    ifKeys:
      ifKeys && new Map(ifKeys.map((key) => [key, (entries.get(key)?.version ?? 0) + ifKeysOff])),
    fence: fence === undefined ? undefined : pick(model.granted, fence),
    idempotency,
  };
}

/** Counted from the newest. */
function pick<Item>(items: readonly Item[], index: number): Item | undefined {
  return items.at(-1 - index);
}

function byToken(leases: readonly Lease[]): Lease[] {
  return leases.toSorted((a, b) => a.token - b.token);
}
