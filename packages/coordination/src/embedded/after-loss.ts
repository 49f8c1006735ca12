import type { MachineStore } from '../engine/machine-store.ts';
import { HEAD } from '../partitions.ts';
import { inBatches } from '../support/in-batches.ts';
import type { MissingRecords } from './log-messages.ts';

/** One record may raise the version of its partition by several. */
const MARGIN = 1_000_000;

/**
 * Which partitions the lost records were about is not known, so all count as changed: readers of
 * their logs find a gap, a version that was given out is not given out again, and no expectation of
 * a context holds that was formed before.
 */
export async function afterLoss(
  store: MachineStore,
  { first, last }: MissingRecords,
): Promise<void> {
  await inBatches(store.partitions(), async (partition) => {
    await store.skipVersions(partition, last - first + MARGIN);
    const head = (await store.read(partition, [HEAD])).entries.get(HEAD);
    if (head === undefined) return;
    await store.commit(partition, { writes: [{ kind: 'put', key: HEAD, value: head.value }] });
  });
}
