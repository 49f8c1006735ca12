// Warnings for operators about agents that are discovered, each with its fix.

import {
  FabricError,
  type Log,
  lookAlikes,
  type Manifest,
  RESERVED_AGENT_IDS,
  type Registry,
} from '@starloom/core';
import type { MissingCapability, Offer } from './pinning/offer.ts';

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

/** Ids are the operator's choice, so that they are served; `warned` has those that were reported. */
export function warnOfAlikeAgents(registry: Registry, log: Log, warned: Set<string>): void {
  const ids = registry.list().map(({ manifest }) => manifest.agent_id);
  for (const names of lookAlikes([...ids, ...RESERVED_AGENT_IDS])) {
    const key = names.join();
    if (warned.has(key)) continue;
    warned.add(key);
    log.warn({ names, fix: 'give one of them another name' }, 'names of agents look alike');
  }
}
