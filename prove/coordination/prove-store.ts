// The workload in one process on a store, without faults from outside: quick, and enough to find
// what is wrong with the store itself.

import type { CoordinationStore } from '@starloom/coordination';
import { createCoordination } from '@starloom/coordination';
import { type Checked, check } from './check.ts';
import { History } from './history.ts';
import { openLocalLink } from './link.ts';
import { Random } from './random.ts';
import { Workload } from './workload.ts';

export interface ProveStoreOptions {
  readonly seconds: number;
  readonly seed: number;
  readonly signal: AbortSignal;
}

export async function proveStore(
  store: CoordinationStore,
  { seconds, seed, signal }: ProveStoreOptions,
): Promise<Checked & { readonly history: History }> {
  const coordination = createCoordination({ store, heartbeatIntervalMs: 1_000 });
  const history = new History();
  const open = () => openLocalLink(coordination);
  const sizes = { clients: 6, subscribers: 2, lockMs: 30 };
  const random = new Random(seed);
  const workload = new Workload({ name: 'local', open, history, random, ...sizes }, signal);
  coordination.start();
  try {
    await workload.prepare();
    await workload.run(AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(seconds * 1_000))]));
    await workload.audit();
  } finally {
    await coordination.close();
  }
  return { ...check(history), history };
}
