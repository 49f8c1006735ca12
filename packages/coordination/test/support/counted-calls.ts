import type { CoordinationStore } from '../../src/coordination-store.ts';

export interface CountedCalls {
  reads: number;
  /** Reads of all keys of a partition. */
  wholeReads: number;
  commits: number;
}

/** Counts what is asked of a store from now on. */
export function countCalls(store: CoordinationStore): CountedCalls {
  const [read, commit] = [store.read.bind(store), store.commit.bind(store)];
  const counted: CountedCalls = { reads: 0, wholeReads: 0, commits: 0 };
  store.read = (partition, keys) => {
    counted.reads += 1;
    if (keys === undefined) counted.wholeReads += 1;
    return read(partition, keys);
  };
  store.commit = (partition, wanted) => {
    counted.commits += 1;
    return commit(partition, wanted);
  };
  return counted;
}
