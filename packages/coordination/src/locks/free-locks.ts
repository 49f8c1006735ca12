import type { CoordinationStore } from '../coordination-store.ts';
import { inBatches } from '../support/in-batches.ts';

interface Claimed {
  readonly holder: string;
  /** Of the ticket or the token: that of a later request, or of a later registration, is larger. */
  readonly number: number;
}

/**
 * Frees leases and places of a partition. A lease that its holder did not give up itself is `lost`,
 * and the log says so.
 */
export async function freeLocks(
  store: CoordinationStore,
  partition: string,
  how: 'released' | 'lost',
  isMeant: (claimed: Claimed) => boolean = () => true,
): Promise<void> {
  const places = (await store.waiting(partition)).filter(({ holder, ticket }) =>
    isMeant({ holder, number: Number.parseInt(ticket, 10) }),
  );
  await inBatches(places, ({ ticket }) => store.cancelWait(partition, ticket));
  const leases = (await store.leases(partition)).filter(({ holder, token, ticket = `${token}` }) =>
    isMeant({ holder, number: Number.parseInt(ticket, 10) }),
  );
  await inBatches(leases, (lease) =>
    how === 'released'
      ? store.release(partition, lease)
      : store.breakLease(partition, lease.resource, lease.token),
  );
}
