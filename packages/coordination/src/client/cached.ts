import type { Json } from '@starloom/core';
import type { MethodParams, Service } from './services.ts';

type Put = MethodParams<'tool_cache.put'>;

export interface CachedCall
  extends Pick<Put, 'tool' | 'params' | 'tool_version' | 'scope' | 'session_id' | 'ttl_ms'>,
    Pick<Put, 'tags' | 'dependencies'> {
  /** Computes the result when there is none. */
  readonly compute: () => Promise<Json>;
  /** How long to wait for another that computes it, before computing it oneself. */
  readonly wait_ms?: number;
}

const WAIT_MS = 60_000;

export async function cached(
  cache: Service<'tool_cache'>,
  { compute, wait_ms = WAIT_MS, ttl_ms, tags, dependencies, ...name }: CachedCall,
): Promise<unknown> {
  const found = await cache.get({ ...name, claim: true, wait_ms });
  if (found.hit) return found.result;
  const { claim, since } = found;
  try {
    const result = await compute();
    await cache.put({ ...name, result, ttl_ms, tags, dependencies, since, claim });
    return result;
  } catch (error) {
    if (claim !== undefined) await cache.abandon({ ...name, claim });
    throw error;
  }
}
