// Results of tools, shared by those who may share them. An entry is valid while nothing that it
// depends on was invalidated since it was stored, or since its computation began when that is known;
// so a result that was on its way while its source changed never becomes valid.

import type { Json } from '@starloom/core';
import { readOwner } from './agents/bindings.ts';
import { type Caller, idempotencyOf, isImplicit } from './agents/caller.ts';
import {
  agentCacheScope,
  type CacheEntry,
  CacheIndex,
  type CacheName,
  type CacheScope,
  cacheEntrySchema,
  cacheKey,
  claimKey,
  entryKey,
  entryLabel,
  namedLabels,
  principalCacheScope,
  sessionCacheScope,
  toolLabel,
} from './cache/cache-index.ts';
import { type CacheAnswer, type CacheTarget, SingleFlight } from './cache/single-flight.ts';
import { jsonBytes } from './json/json.ts';
import type { CacheGet, CacheInvalidation, CachePut } from './methods/tool-cache.ts';
import { partitionOf } from './partitions.ts';
import { assertSize } from './quota/limits.ts';
import { Meter } from './quota/meter.ts';
import { failure } from './reasons.ts';
import type { Services } from './services.ts';
import type { Need } from './session/session-access.ts';

type ToolCacheOptions = Pick<
  Services,
  'store' | 'clock' | 'limits' | 'budgets' | 'access' | 'agents' | 'bindings' | 'feeds'
>;

export interface Shared {
  readonly scope: CacheScope;
  readonly session_id?: string | undefined;
}

export class ToolCache {
  readonly #options: ToolCacheOptions;
  readonly #index: CacheIndex;
  readonly #meter: Meter;
  readonly #flights: SingleFlight;

  constructor(options: ToolCacheOptions) {
    const { store, clock, limits, feeds } = options;
    this.#options = options;
    const lookUp = (target: CacheTarget) => this.#lookUp(target);
    this.#flights = new SingleFlight({ store, feeds, lookUp });
    this.#index = new CacheIndex(store, clock, limits.cache_entries);
    const fix = 'store smaller results, or invalidate some';
    this.#meter = new Meter({ limits, entries: 'cache_entries', bytes: 'cache_bytes', fix });
  }

  async get(caller: Caller, request: CacheGet): Promise<CacheAnswer> {
    const { scope } = await this.#scope(caller, request, request.claim ? 'claimer' : 'reader');
    const target = toTarget(scope, caller, request);
    if (await this.#isUnused(caller, request)) return await this.#lookUp(target);
    const found = await this.#lookUp(target);
    const mayJoin = !found.hit && (request.claim || request.wait_ms > 0);
    const flight = { ...request, idempotency: idempotencyOf(caller, 'tool_cache.get') };
    const answer = mayJoin ? await this.#flights.join(target, flight, caller.signal) : found;
    if (answer.hit) await this.#index.noteHit(scope, target.key, TRACE_MS);
    else await this.#index.noteMiss(scope);
    return answer;
  }

  /** False when it was outdated before it was stored. */
  async put(caller: Caller, request: CachePut): Promise<{ stored: boolean; key: string }> {
    const { store, clock, limits, budgets } = this.#options;
    const { scope, owner } = await this.#scope(caller, request, 'writer');
    const target = toTarget(scope, caller, request);
    const { partition, key } = target;
    const claim =
      request.claim === undefined ? undefined : await this.#flights.claimOf(target, request.claim);
    if (claim === undefined && request.claim !== undefined) throw staleClaim(request);
    const since = request.since ?? (claim && (await this.#flights.beganAt(target, claim)));
    const { tool, tool_version = null, result, ttl_ms: ttlMs } = request;
    const labels = [entryLabel(key), toolLabel(tool), ...namedLabels(request)];
    const at = clock.now();
    const entry: CacheEntry = { tool, tool_version, result, labels, agent_id: caller.agentId, at };
    const bytes = jsonBytes(entry);
    assertSize('value_bytes', bytes, limits);
    await budgets.reserve(owner, bytes);
    if (request.scope !== 'session') await budgets.addCacheScope(owner, scope);
    using _ = await this.#roomFor(scope, bytes);
    const end = claim && ({ kind: 'delete', key: claimKey(key) } as const);
    for (;;) {
      const marks = await this.#index.marksOf(partition, labels);
      if (since !== undefined && marks.at > since) {
        if (claim) await store.release(partition, claim);
        return { stored: false, key };
      }
      const answer = await store.commit(partition, {
        writes: [{ kind: 'put', key: entryKey(key), value: entry, ttlMs }, ...(end ? [end] : [])],
        event: { type: 'cache.stored', key },
        ifKeys: marks.ifKeys,
        fence: claim,
      });
      if (!answer.ok && answer.reason === 'fenced') throw staleClaim(request);
      if (!answer.ok) continue;
      await this.#index.add(scope, key, { tool, labels, bytes, at }, ttlMs);
      if (claim) await store.release(partition, claim);
      return { stored: true, key };
    }
  }

  async abandon(caller: Caller, request: CacheName & Shared, claim: number): Promise<boolean> {
    const { scope } = await this.#scope(caller, request, 'reader');
    const target = toTarget(scope, caller, request);
    const lease = await this.#flights.claimOf(target, claim);
    if (lease === undefined) return false;
    return (await this.#options.store.release(target.partition, lease)).released;
  }

  /** By tool and parameters, by tool, by tags, by dependencies: whatever has one of them. */
  async invalidate(caller: Caller, request: CacheInvalidation): Promise<number> {
    const { scope } = await this.#scope(caller, request, 'writer');
    const { tool, params, tool_version } = request;
    const named = tool === undefined ? [] : [namedLabel(tool, params, tool_version)];
    const labels = new Set([...named, ...namedLabels(request)]);
    if (labels.size === 0) throw failure('bad_params/nothing_to_invalidate');
    return await this.#index.invalidate(scope, [...labels]);
  }

  async stats(caller: Caller, shared: Shared, reset: boolean) {
    const { scope } = await this.#scope(caller, shared, reset ? 'writer' : 'reader');
    const stats = await this.#index.stats(scope);
    if (reset) await this.#index.reset(scope);
    return stats;
  }

  async #lookUp({ partition, key }: CacheTarget): Promise<CacheAnswer> {
    const { store } = this.#options;
    const snapshot = await store.read(partition, [entryKey(key)]);
    const stored = snapshot.entries.get(entryKey(key));
    const miss = { hit: false, since: snapshot.version } as const;
    if (stored === undefined) return miss;
    const { labels, result, at, agent_id } = cacheEntrySchema.parse(stored.value);
    const marks = await this.#index.marksOf(partition, labels);
    if (marks.at > stored.version) return miss;
    return { hit: true, result, at, agent_id };
  }

  #roomFor(scope: string, bytes: number): Promise<Disposable> {
    return this.#meter.hold({
      name: scope,
      more: { entries: 1, bytes },
      measure: () => this.#index.measure(scope),
    });
  }

  async #scope(
    caller: Caller,
    shared: Shared,
    use: 'reader' | 'claimer' | 'writer',
  ): Promise<{ readonly scope: string; readonly owner: string }> {
    const { session_id } = shared;
    const { principalId } = caller;
    if (shared.scope !== 'session') {
      await this.#assertAlive(caller, use);
      const isOne = shared.scope === 'agent';
      const scope = isOne ? agentCacheScope(caller) : principalCacheScope(principalId);
      return { scope, owner: principalId };
    }
    if (session_id === undefined) throw failure('bad_params/no_session');
    const role = use === 'writer' ? 'writer' : 'reader';
    const state = role === 'writer' ? ('active' as const) : undefined;
    const need: Need = { role, ...(state && { state }) };
    const { meta } = await this.#options.access.fresh(caller, session_id, need);
    return { scope: sessionCacheScope(session_id), owner: meta.principal };
  }

  /** No agent of this name has stored or claimed anything: a look leaves no trace of it. */
  async #isUnused(caller: Caller, { scope, claim }: CacheGet): Promise<boolean> {
    if (scope !== 'agent' || claim || isImplicit(caller)) return false;
    return (await readOwner(this.#options.store, caller.agentId)) === undefined;
  }

  /**
   * What sessions see to by themselves: the registration of the agent has not ended, its name is
   * its own. To read makes no name the caller's.
   */
  async #assertAlive(caller: Caller, use: 'reader' | 'claimer' | 'writer'): Promise<void> {
    if (isImplicit(caller)) return;
    const { agents, bindings } = this.#options;
    const { agentId, principalId } = caller;
    if (use === 'reader') await bindings.check(agentId, principalId);
    else await bindings.use(agentId, principalId);
    await agents.epochOf(caller);
  }
}

const TRACE_MS = 24 * 3_600_000;

function toTarget(scope: string, { agentId }: Caller, name: CacheName): CacheTarget {
  return { partition: partitionOf.cache(scope), key: cacheKey(name), holder: agentId };
}

function namedLabel(tool: string, params: Json | undefined, tool_version?: string): string {
  if (params === undefined) return toolLabel(tool);
  return entryLabel(cacheKey({ tool, params, tool_version }));
}

function staleClaim({ tool, claim = 0 }: CachePut) {
  return failure('stale_token/claim', { tool, claim });
}
