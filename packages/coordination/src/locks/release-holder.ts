import type { CoordinationStore } from '@starloom/core';
import { inBatches } from '../support/in-batches.ts';

/** Frees all that one holder has or waits for in a partition; the resources it held. */
export async function releaseHolder(
  store: CoordinationStore,
  partition: string,
  holder: string,
): Promise<readonly string[]> {
  const waiting = (await store.waiting(partition)).filter((place) => place.holder === holder);
  await inBatches(waiting, ({ ticket }) => store.cancelWait(partition, ticket));
  const leases = (await store.leases(partition)).filter((lease) => lease.holder === holder);
  await inBatches(leases, (lease) => store.release(partition, lease));
  return leases.map(({ resource }) => resource);
}

/** Frees everything that anybody has or waits for in a partition, and tells the holders. */
export async function releaseEverybody(store: CoordinationStore, partition: string): Promise<void> {
  const waiting = await store.waiting(partition);
  await inBatches(waiting, ({ ticket }) => store.cancelWait(partition, ticket));
  const leases = await store.leases(partition);
  await inBatches(leases, ({ resource, token }) => store.breakLease(partition, resource, token));
}
