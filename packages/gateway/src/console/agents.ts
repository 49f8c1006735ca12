// Agents as the page shows them, and what an operator does with them.

import type {
  AgentDetail,
  AgentRow,
  HealthView,
  InstanceView,
  Json,
  PinChange,
  PinView,
  ToolView,
} from '@starloom/console/api-types';
import {
  type AgentInstance,
  type AgentRecord,
  type Capability,
  type Health,
  protocolOf,
  UNKNOWN_VERSION,
} from '@starloom/core';
import { isRegistryOperator, type Principal } from '@starloom/identity';
import { z } from 'zod';
import type { Pinning } from '../pinning/pinning.ts';
import {
  type AgentPins,
  approveHeld,
  type Definition,
  type HeldPin,
  readPins,
} from '../pinning/pins-file.ts';
import { circuitOf, instancesOf } from '../pipeline/instances.ts';
import { VisibleAgents } from '../pipeline/route.ts';
import { failure } from '../reasons.ts';
import { toPublicEndpoint } from '../tools/agents.ts';
import { figuresOf } from './call-facts.ts';
import type { ConsoleParts } from './console.ts';
import {
  assertMay,
  type ConsoleRequest,
  compact,
  type Handlers,
  ownerOf,
  parse,
  useTool,
  withPart,
} from './request.ts';

const HISTORY = 100;
const NODE = z.strictObject({ node_id: z.string().max(256).optional() });

const approveSchema = z.strictObject({
  tools: z
    .array(z.strictObject({ name: z.string(), fingerprint: z.string() }))
    .min(1)
    .max(1_000),
});

export const agentHandlers: Handlers = {
  'GET agents': async (request) => {
    const { parts, principal } = request;
    const figures = await figuresByAgent(request);
    const agents = agentsOf(parts, principal)
      .list()
      .map((record): AgentRow => {
        const own = figures?.get(record.manifest.agent_id);
        return { ...toAgentRow(parts, record), ...(figures && { figures: own ?? figuresOf([]) }) };
      });
    return { agents };
  },
  'GET agents/:id': (request) => describeAgent(request, request.params.id ?? ''),
  'POST agents/:id/approve': withPart('pinning', approve),
  'POST agents/:id/drain': drain,
  'POST agents/:id/check': async (request) => {
    assertMay(request, 'agents');
    const { manifest } = findAgent(request);
    await request.parts.pipeline.check(manifest.agent_id);
    return await describeAgent(request, manifest.agent_id);
  },
  'DELETE agents/:id': async (request) => {
    await useTool(request, 'fabric.agent.remove', { agent_id: request.params.id });
    return {};
  },
};

/** What the person may use; operators see every agent. */
export function agentsOf({ gateway, pipeline }: ConsoleParts, principal: Principal) {
  return isRegistryOperator(principal)
    ? gateway.registry
    : new VisibleAgents(principal, pipeline.deps);
}

/** Of the last hour; absent without a journal. */
async function figuresByAgent({ parts, principal, facts }: ConsoleRequest) {
  if (!facts) return undefined;
  const since = parts.pipeline.deps.clock.now() - 3_600_000;
  const counted = await facts.since(since, ownerOf(principal, 'calls'));
  const byAgent = Map.groupBy(counted, ({ agent }) => agent ?? '');
  return new Map([...byAgent].map(([agent, some]) => [agent, figuresOf(some)]));
}

function findAgent({ parts, principal, params }: ConsoleRequest): AgentRecord {
  const id = params.id ?? '';
  const found = agentsOf(parts, principal).get(id);
  if (found) return found;
  throw failure('not_found/agent', { agent_id: id.slice(0, 100), fix: undefined });
}

export function toAgentRow(parts: ConsoleParts, record: AgentRecord): AgentRow {
  const { manifest, health, capabilities, held } = record;
  const { agent_id, node_id, version, description, trust_tier, tags, endpoint } = manifest;
  return {
    agent_id,
    node_id,
    version,
    ...(description !== undefined && { description }),
    protocol: protocolOf(endpoint),
    transport: endpoint.transport,
    trust_tier,
    tags: tags ?? [],
    health: toHealthView(health),
    breaker: breakerOf(parts, record, record),
    tools: capabilities.length,
    held: held.length,
    instances: instancesOf(record).length,
  };
}

export async function describeAgent(request: ConsoleRequest, id: string): Promise<AgentDetail> {
  const { parts, principal } = request;
  const record = findAgent({ ...request, params: { id } });
  const { manifest } = record;
  const { discovery } = parts.pipeline.deps;
  const { version, description } = discovery.saidBy(manifest);
  const figures = (await figuresByAgent(request))?.get(id);
  const isOperator = isRegistryOperator(principal);
  const { registrar } = parts.gateway.registry;
  const instances = instancesOf(record);
  const row = toAgentRow(parts, record);
  return {
    ...row,
    version: row.version === UNKNOWN_VERSION ? (version ?? row.version) : row.version,
    ...(description !== undefined && row.description === undefined && { description }),
    endpoint: toPublicEndpoint(manifest.endpoint),
    fallbacks: manifest.fallbacks,
    ...(figures && { figures }),
    missing: discovery.missingOf(manifest).map(({ name }) => name),
    instance_list: instances.map((instance) => toInstanceView(parts, record, instance)),
    history: registrar ? await registrar.history(manifest.agent_id, HISTORY) : [],
    capabilities: record.capabilities.map(toToolView),
    pins: toPinViews((await pinsOf(parts)).find(({ agent_id }) => agent_id === id)),
    may: {
      approve: isOperator && record.held.length > 0,
      drain:
        isOperator &&
        instances.some(({ epoch, state }) => epoch !== undefined && state === 'active'),
      remove: isOperator && registrar !== undefined,
      check: isOperator,
    },
  };
}

async function pinsOf({ gateway, stateFolder }: ConsoleParts): Promise<readonly AgentPins[]> {
  return gateway.pinning ? await readPins(stateFolder) : [];
}

async function approve(request: ConsoleRequest, pinning: Pinning): Promise<object> {
  const { parts, principal, body } = request;
  assertMay(request, 'agents');
  const { agent_id } = findAgent(request).manifest;
  const { tools } = parse(approveSchema, body, 'the tools');
  const held = (await pinsOf(parts)).find((one) => one.agent_id === agent_id)?.held ?? [];
  const shown = tools.map(({ name, fingerprint }): HeldPin => {
    const found = held.find(
      (one) => one.definition.name === name && one.fingerprint === fingerprint,
    );
    if (found) return found;
    throw failure('changed_again', { agent_id });
  });
  const { clock, audit } = parts.pipeline.deps;
  const by = principal.id;
  await approveHeld(parts.stateFolder, { agentId: agent_id, shown, by, now: clock.now() });
  const capabilities = tools.map(({ name, fingerprint }) => ({ name, fingerprint }));
  audit({ type: 'pin', decision: 'approved', agent_id, capabilities, by });
  await pinning.follow();
  return await describeAgent(request, agent_id);
}

async function drain(request: ConsoleRequest): Promise<object> {
  const { manifest, ...record } = findAgent(request);
  const { agent_id } = manifest;
  const { node_id } = parse(NODE, request.body, 'the instance');
  const chosen = instancesOf({ manifest, ...record }).filter(
    ({ epoch, manifest: { node_id: at } }) =>
      epoch !== undefined && (node_id === undefined || at === node_id),
  );
  if (chosen.length === 0) throw failure('console_no_lease', { agent_id });
  for (const { epoch, manifest: at } of chosen) {
    await useTool(request, 'fabric.agent.drain', { agent_id, node_id: at.node_id, epoch });
  }
  return await describeAgent(request, agent_id);
}

export function toHealthView({ upstream: _, ...health }: Health): HealthView {
  return compact<HealthView>(health);
}

function breakerOf(
  { pipeline }: ConsoleParts,
  record: AgentRecord,
  instance: Pick<AgentInstance, 'manifest'>,
) {
  return pipeline.deps.breakers.state(circuitOf(record, instance)) as NonNullable<
    AgentRow['breaker']
  >;
}

function toInstanceView(
  parts: ConsoleParts,
  record: AgentRecord,
  instance: AgentInstance,
): InstanceView {
  const { manifest, state, health, hold } = instance;
  const { node_id, version } = manifest;
  return {
    node_id,
    state,
    version,
    health: toHealthView(health),
    breaker: breakerOf(parts, record, instance),
    ...(hold && { hold }),
  };
}

export function toToolView(capability: Capability): ToolView {
  const { name, title, description, input_schema, output_schema, annotations } = capability;
  const { streaming, idempotent } = capability;
  const said = { title, description, input_schema, output_schema, annotations };
  return compact<ToolView>({ name, ...said, streaming, idempotent });
}

const FIELDS = [
  'tool',
  'title',
  'description',
  'input_schema',
  'output_schema',
  'annotations',
] as const;

function toPinViews(agent: AgentPins | undefined): readonly PinView[] {
  if (!agent) return [];
  const approved = new Map(agent.pins.map((pin) => [pin.definition.name, pin]));
  const held = agent.held.map((pin): PinView => {
    const { definition, fingerprint, reason, like, seen_at } = pin;
    const before = approved.get(definition.name)?.definition;
    return {
      name: definition.name,
      state: 'held',
      fingerprint,
      reason,
      ...(like !== undefined && { like }),
      seen_at,
      changes: changesBetween(before, definition),
    };
  });
  const pinned = agent.pins.map(
    ({ definition, fingerprint, approved_at, approved_by }): PinView => ({
      name: definition.name,
      state: 'approved',
      fingerprint,
      approved_at,
      approved_by,
      changes: [],
    }),
  );
  return [...held, ...pinned];
}

function changesBetween(before: Definition | undefined, after: Definition): PinChange[] {
  const changed = FIELDS.filter(
    (field) => JSON.stringify(before?.[field]) !== JSON.stringify(after[field]),
  );
  if (changed.length === 0) return [{ field: 'server' }];
  return changed.map((field) => ({
    field,
    ...(before?.[field] !== undefined && { before: before[field] as Json }),
    ...(after[field] !== undefined && { after: after[field] as Json }),
  }));
}
