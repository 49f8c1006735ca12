import type { CoordinationStore } from './coordination-store.ts';
import { partitionOf } from './partitions.ts';

/**
 * The partitions of the gateways themselves, beside those of their clients. No method of a client
 * reaches them: the name of every other partition begins with its own word.
 */
export function toRealmStore(
  store: CoordinationStore,
): Pick<CoordinationStore, 'read' | 'commit' | 'watch'> {
  return {
    read: (name, keys) => store.read(partitionOf.realm(name), keys),
    commit: (name, commit) => store.commit(partitionOf.realm(name), commit),
    watch: (name, listener) => store.watch(partitionOf.realm(name), listener),
  };
}
