import type { Clock, Log } from '@starloom/core';
import type { CoordinationStore } from './coordination-store.ts';
import { openEmbeddedStore } from './embedded-store.ts';
import { openRedisStore } from './redis-store.ts';

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
    case 'redis':
      return openRedisStore({ url: config.url, log });
  }
}
