// What agents say of themselves when they are discovered, and warnings for operators about it, each with
// its fix.

import {
  type AgentDescription,
  FabricError,
  type Log,
  lookAlikes,
  type Manifest,
  orAborted,
  RESERVED_AGENT_IDS,
  type Registry,
} from '@starloom/core';
import type { AdapterPool } from './adapter-pool.ts';
import type { MissingCapability, Offer } from './pinning/offer.ts';

interface DescribeDeps {
  readonly adapters: AdapterPool;
  readonly registry: Registry;
  readonly log: Log;
}

/** As the first instance that answers says it: all of them agree on what the agent offers. */
export async function describeAny(
  manifest: Manifest,
  { adapters, registry, log }: DescribeDeps,
  signal: AbortSignal,
): Promise<AgentDescription> {
  const usable = (registry.get(manifest.agent_id)?.instances ?? []).filter(
    ({ hold, state }) => !hold && state === 'active',
  );
  const offline = usable.filter(({ health }) => health.status === 'offline');
  const order = [manifest, ...usable.map((one) => one.manifest)].toSorted((a, b) => {
    const isOff = (one: Manifest) => Number(offline.some((each) => each.manifest === one));
    return isOff(a) - isOff(b);
  });
  let failed: unknown;
  for (const each of new Set(order)) {
    try {
      using lease = await adapters.lease(each);
      return await orAborted(lease.adapter.describe({ signal, log }), signal);
    } catch (error) {
      signal.throwIfAborted();
      failed ??= error;
    }
  }
  throw failed;
}

export function warnOfUnusable(agent_id: string, unusable: readonly string[], log: Log): void {
  const fix = 'remove them at the agent; names and values of a schema cannot be cleaned';
  log.warn({ agent_id, left_out: unusable.slice(0, 20), fix }, 'tools with hidden characters');
}

export function warnOfMissing(
  agent_id: string,
  missing: readonly MissingCapability[],
  log: Log,
): void {
  for (const { name, near } of missing) {
    const fix = near === undefined ? 'remove it from the manifest' : `did you mean "${near}"?`;
    log.warn({ agent_id, capability: name, fix }, 'the agent does not offer a declared capability');
  }
}

export function warnOfNone({ agent_id, capabilities }: Manifest, log: Log): void {
  const fix =
    capabilities === undefined
      ? 'list its capabilities in the manifest if its protocol cannot say them'
      : 'remove the key "capabilities" to serve all it offers';
  log.warn({ agent_id, fix }, 'the agent serves no capability');
}

export function notReached({ agent_id }: Manifest, failure: FabricError | undefined): FabricError {
  const { upstream, fix = 'starloom health shows why' } = failure?.details ?? {};
  const message = `Agent "${agent_id}" was not reached yet, so what it offers is unknown`;
  return new FabricError('AGENT_OFFLINE', failure ? `${message}: ${failure.message}` : message, {
    details: {
      agent_id,
      reason: 'not_discovered',
      sent: false,
      ...(upstream !== undefined && { upstream }),
      fix,
    },
    cause: failure,
  });
}

/** Of one agent, when it is first seen: later ones wait for approval. */
export function warnOfAlikeTools(agent_id: string, offers: readonly Offer[], log: Log): void {
  for (const names of lookAlikes(offers.map(({ served }) => served.name))) {
    const fix = 'leave one of them out with tools.exclude';
    log.warn({ agent_id, names, fix }, 'tools of the agent look alike');
  }
}

/** Names of agents that are compared with one another after each change. */
const MAX_COMPARED = 5_000;

/** Ids are the operator's choice, so that they are served; `warned` has those that were reported. */
export function warnOfAlikeAgents(registry: Registry, log: Log, warned: Set<string>): void {
  const ids = registry.list().map(({ manifest }) => manifest.agent_id);
  // Names in a large registry were compared when they were registered.
  if (ids.length > MAX_COMPARED) return;
  for (const names of lookAlikes([...ids, ...RESERVED_AGENT_IDS])) {
    const key = names.join();
    if (warned.has(key)) continue;
    warned.add(key);
    log.warn({ names, fix: 'give one of them another name' }, 'names of agents look alike');
  }
}
