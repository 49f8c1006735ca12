import type { Clock, Log } from '@starloom/core';
import type { CoordinationStore } from './coordination-store.ts';
import { openEmbeddedStore } from './embedded-store.ts';
import { partitionOf } from './partitions.ts';

export type StoreConfig =
  /** Without a path, everything is gone with the process. */
  | { readonly kind: 'embedded'; readonly path?: string | undefined }
  | { readonly kind: 'redis'; readonly url: string };

export interface StoreDependencies {
  readonly log: Log;
  /** For the embedded engine; Redis has its own. */
  readonly clock?: Clock | undefined;
}

export async function openStore(
  config: StoreConfig,
  { clock, log }: StoreDependencies,
): Promise<CoordinationStore> {
  switch (config.kind) {
    case 'embedded':
      return openEmbeddedStore({ path: config.path, clock, log });
    case 'redis': {
      const { openRedisStore } = await import('./redis-store.ts');
      return openRedisStore({ url: config.url, log });
    }
  }
}

/**
 * The partitions of the gateways themselves, beside those of their clients. No method of a client
 * reaches them: the name of every other partition begins with its own word.
 */
export function toRealmStore(
  store: CoordinationStore,
): Pick<CoordinationStore, 'read' | 'commit' | 'watch' | 'events'> {
  return {
    read: (name, keys) => store.read(partitionOf.realm(name), keys),
    commit: (name, commit) => store.commit(partitionOf.realm(name), commit),
    watch: (name, listener) => store.watch(partitionOf.realm(name), listener),
    events: (name, ...rest) => store.events(partitionOf.realm(name), ...rest),
  };
}
