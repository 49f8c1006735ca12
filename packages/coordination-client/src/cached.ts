import { FabricError, type Json, type Log } from '@starloom/core';
import { rpcCodeOf } from './requests.ts';
import type { MethodParams, Service } from './services.ts';

type Put = MethodParams<'tool_cache.put'>;

export interface CachedCall<Result>
  extends Pick<Put, 'tool' | 'params' | 'tool_version' | 'scope' | 'session_id' | 'ttl_ms'>,
    Pick<Put, 'tags' | 'dependencies'> {
  /** Computes the result when there is none. It has to be JSON, since others get a copy of it. */
  readonly compute: () => Promise<Result>;
  /** How long to wait for another that computes it, before computing it oneself. */
  readonly wait_ms?: number;
  /** How long the others wait for this one to compute it; by default ten minutes, the most there is. */
  readonly claim_ttl_ms?: number;
}

const WAIT_MS = 60_000;
const CLAIM_TTL_MS = 600_000;
/** Bad parameters, or not authorised: what the caller has to put right. */
const MISTAKES = [-32602, -32001];

/** A result that was computed is given, also when it cannot be kept for others. */
export async function cached<Result>(
  { cache, log }: { readonly cache: Service<'tool_cache'>; readonly log: Log },
  { compute, wait_ms = WAIT_MS, claim_ttl_ms = CLAIM_TTL_MS, ...entry }: CachedCall<Result>,
): Promise<Result> {
  const { ttl_ms: _, tags: __, dependencies: ___, ...name } = entry;
  const found = await cache.get({ ...name, claim: true, claim_ttl_ms, wait_ms });
  if (found.hit) return found.result as Result;
  const { claim, since } = found;
  const note = (thrown: unknown, text: string) =>
    log.info({ error: FabricError.from(thrown), tool: name.tool }, text);
  const abandon = () => {
    if (claim === undefined) return;
    cache.abandon({ ...name, claim }).catch((error: unknown) => {
      note(error, 'coordination: a claim was not given up');
    });
  };
  const computing = (async () => await compute())();
  const result = await computing.catch((error: unknown) => {
    abandon();
    throw error;
  });
  try {
    await cache.put({ ...entry, result: result as Json, since, claim });
  } catch (error) {
    abandon();
    if (MISTAKES.includes(rpcCodeOf(error) ?? 0)) throw error;
    note(error, 'coordination: a result was not cached');
  }
  return result;
}
