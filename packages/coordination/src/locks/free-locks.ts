import type { CoordinationStore } from '../coordination-store.ts';
import { inBatches } from '../support/in-batches.ts';

/**
 * Frees all that some holders have or wait for in a partition. What they did not give up themselves
 * is `lost`, and the log says so.
 */
export async function freeHolders(
  store: CoordinationStore,
  partition: string,
  isMeant: (holder: string) => boolean,
  how: 'released' | 'lost',
): Promise<void> {
  const waiting = (await store.waiting(partition)).filter(({ holder }) => isMeant(holder));
  await inBatches(waiting, ({ ticket }) => store.cancelWait(partition, ticket));
  const leases = (await store.leases(partition)).filter(({ holder }) => isMeant(holder));
  await inBatches(leases, (lease) =>
    how === 'released'
      ? store.release(partition, lease)
      : store.breakLease(partition, lease.resource, lease.token),
  );
}

/**
 * Frees what a holder has or waits for under a name that all its registrations share: what it got
 * before a later registration, whose epoch is a number of the same kind.
 */
export async function freeClaims(
  store: CoordinationStore,
  partition: string,
  { holder, before }: { readonly holder: string; readonly before: number },
): Promise<void> {
  const isMeant = (asked: { readonly holder: string; readonly at: number }) =>
    asked.holder === holder && asked.at < before;
  const places = (await store.waiting(partition)).filter((place) =>
    isMeant({ ...place, at: Number.parseInt(place.ticket, 10) }),
  );
  await inBatches(places, ({ ticket }) => store.cancelWait(partition, ticket));
  const claims = (await store.leases(partition)).filter((lease) =>
    isMeant({ ...lease, at: Number.parseInt(lease.ticket ?? `${lease.token}`, 10) }),
  );
  await inBatches(claims, (lease) => store.release(partition, lease));
}

/** Frees all leases and places of a partition; the log notifies the holders. */
export async function freeAll(store: CoordinationStore, partition: string): Promise<void> {
  const waiting = await store.waiting(partition);
  await inBatches(waiting, ({ ticket }) => store.cancelWait(partition, ticket));
  const leases = await store.leases(partition);
  await inBatches(leases, ({ resource, token }) => store.breakLease(partition, resource, token));
}
