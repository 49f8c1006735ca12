// What becomes of a batch of operations, decided on the rows that a transaction has locked. Pure: a
// transaction that Postgres ended is decided again from its start. An operation that is refused leaves no
// trace; the others of the batch go on.

import {
  assertCurrent,
  assertMayRegister,
  definitionDigest,
  FabricError,
  type InstanceEntry,
  type InstanceEpoch,
  type InstanceKey,
  type Manifest,
  type RegisterOptions,
  type Registrant,
  skeletonOf,
} from '@starloom/core';
import { asStored } from './rows.ts';

export type Operation =
  | {
      readonly kind: 'register';
      readonly manifest: Manifest;
      readonly by: Registrant;
      readonly options: RegisterOptions;
    }
  | { readonly kind: 'drain' | 'leave'; readonly instance: InstanceEpoch; readonly by: Registrant }
  | { readonly kind: 'expire'; readonly instance: InstanceEpoch }
  | {
      readonly kind: 'remove';
      readonly agentId: string;
      readonly nodeId: string | undefined;
      readonly by: Registrant;
    };

export type Outcome =
  | { readonly ok: true; readonly revision: number; readonly isChanged: boolean }
  | { readonly ok: false; readonly error: FabricError };

export interface Held {
  readonly instances: Map<string, readonly InstanceEntry[]>;
  readonly removed: Set<string>;
  /** Agents by the skeleton of their name. */
  readonly names: Map<string, string>;
}

export interface Decided {
  readonly outcomes: readonly Outcome[];
  readonly revision: number;
  /** In order of revisions, which have no gaps. */
  readonly changes: readonly { readonly revision: number; readonly agent_id: string }[];
  readonly written: readonly InstanceEntry[];
  readonly gone: readonly InstanceKey[];
  /** Nothing that was there before has changed. */
  readonly isOnlyNew: boolean;
  /** Agents that are there, that left, and that an operator removed. */
  readonly added: readonly string[];
  readonly left: readonly string[];
  readonly removed: readonly string[];
}

export function agentOf(operation: Operation): string {
  if (operation.kind === 'register') return operation.manifest.agent_id;
  return operation.kind === 'remove' ? operation.agentId : operation.instance.agent_id;
}

export function decide(
  operations: readonly Operation[],
  held: Held,
  { revision: first, now }: Now,
): Decided {
  const changes: { revision: number; agent_id: string }[] = [];
  const before = new Map(held.instances);
  let revision = first;
  const outcomes = operations.map((operation): Outcome => {
    const agent_id = agentOf(operation);
    try {
      const known = held.instances.get(agent_id) ?? [];
      const after = apply(operation, known, held, { revision: revision + 1, now });
      if (after === known) return { ok: true, revision, isChanged: false };
      held.instances.set(agent_id, after);
      if (after.length > 0) held.names.set(skeletonOf(agent_id), agent_id);
      revision += 1;
      changes.push({ revision, agent_id });
      return { ok: true, revision, isChanged: true };
    } catch (error) {
      return { ok: false, error: FabricError.from(error) };
    }
  });
  return { outcomes, revision, changes, ...differencesOf(changes, before, held) };
}

interface Now {
  readonly revision: number;
  readonly now: number;
}

/** The instances of the agent afterwards; the same list when nothing changes. */
function apply(
  operation: Operation,
  instances: readonly InstanceEntry[],
  held: Held,
  at: Now,
): readonly InstanceEntry[] {
  switch (operation.kind) {
    case 'register':
      return register(operation, instances, held, at);
    case 'drain': {
      const found = assertCurrent(operation.instance, operation.by, instances);
      if (found.state === 'draining') return instances;
      const { revision } = at;
      return replaceInstance(instances, { ...found, revision, state: 'draining' });
    }
    case 'leave': {
      const found = assertCurrent(operation.instance, operation.by, instances);
      return instances.filter((one) => one !== found);
    }
    case 'expire': {
      const found = instances.find(({ manifest, epoch, expiresAt = at.now + 1 }) => {
        const { node_id, epoch: meant } = operation.instance;
        return manifest.node_id === node_id && epoch === meant && expiresAt <= at.now;
      });
      if (!found) return instances;
      const { expiresAt: _, ...rest } = found;
      return replaceInstance(instances, { ...rest, revision: at.revision, state: 'expired' });
    }
    case 'remove': {
      const { agentId, nodeId, by } = operation;
      const isLeft = (node: string) => nodeId !== undefined && node !== nodeId;
      const left = instances.filter(({ manifest }) => isLeft(manifest.node_id));
      if (left.length === instances.length) return instances;
      if (nodeId === undefined && by.isOperator) held.removed.add(agentId);
      return left;
    }
  }
}

function register(
  { manifest, by, options }: Extract<Operation, { kind: 'register' }>,
  instances: readonly InstanceEntry[],
  held: Held,
  { revision, now }: Now,
): readonly InstanceEntry[] {
  const { agent_id } = manifest;
  const { leaseMs } = options;
  const named = held.names.get(skeletonOf(agent_id));
  const like = named === agent_id ? undefined : named;
  const isRemoved = held.removed.has(agent_id);
  assertMayRegister(manifest, by, options, { instances, isRemoved, like });
  held.removed.delete(agent_id);
  return replaceInstance(instances, {
    manifest: asStored(manifest),
    revision,
    state: 'active',
    epoch: revision,
    digest: definitionDigest(manifest),
    ...(by.isOperator ? {} : { owner: by.principal }),
    ...(leaseMs !== undefined && { leaseMs, expiresAt: now + leaseMs }),
  });
}

function replaceInstance(instances: readonly InstanceEntry[], changed: InstanceEntry) {
  const { node_id } = changed.manifest;
  return [...instances.filter(({ manifest }) => manifest.node_id !== node_id), changed];
}

function differencesOf(changes: Decided['changes'], before: Held['instances'], held: Held) {
  const agents = [...new Set(changes.map(({ agent_id }) => agent_id))];
  const instancesOf = (agentId: string) => held.instances.get(agentId) ?? [];
  const knownOf = (agentId: string) => before.get(agentId) ?? [];
  const left = agents.filter((id) => instancesOf(id).length === 0);
  const nodesOf = (id: string) => new Set(instancesOf(id).map(({ manifest }) => manifest.node_id));
  return {
    written: agents.flatMap((id) => {
      const known = new Set(knownOf(id));
      return instancesOf(id).filter((entry) => !known.has(entry));
    }),
    gone: agents.flatMap((agent_id) =>
      knownOf(agent_id)
        .map(({ manifest: { node_id } }) => ({ agent_id, node_id }))
        .filter(({ node_id }) => !nodesOf(agent_id).has(node_id)),
    ),
    isOnlyNew: agents.every((id) => knownOf(id).length === 0) && left.length === 0,
    added: agents.filter((id) => instancesOf(id).length > 0),
    left: left.filter((id) => !held.removed.has(id)),
    removed: left.filter((id) => held.removed.has(id)),
  };
}
