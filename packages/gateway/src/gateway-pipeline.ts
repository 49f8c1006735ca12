// What a call goes through, put together from the configuration: every face calls into it.

import { isMcpRelay } from '@starloom/adapters';
import type { Coordination } from '@starloom/coordination';
import {
  type Adapter,
  type Clock,
  FabricError,
  type JobEngine,
  type Log,
  type Manifest,
  RecursionGuard,
  systemClock,
} from '@starloom/core';
import { Authoriser, TraceBudgets } from '@starloom/identity';
import { Policy } from '@starloom/identity/policy';
import { LIST_KINDS, type ListKind } from '@starloom/mcp-client/server';
import { SchemaValidators } from '@starloom/wire/foreign-schema';
import { AdapterPool } from './adapter-pool.ts';
import { ArgumentSchemas } from './argument-schemas.ts';
import type { GatewayConfig } from './config.ts';
import { Discovery } from './discovery.ts';
import type { GatewayOptions } from './gateway.ts';
import { HealthMonitor } from './health-monitor.ts';
import { InboundWebhooks } from './inbound-webhooks.ts';
import { JobCalls } from './jobs/job-calls.ts';
import { createBoundedJobs } from './jobs/job-setup.ts';
import { openNodeAdapter } from './nodes/node-adapter.ts';
import { NodeLinks } from './nodes/node-links.ts';
import { confirmOnce } from './pinning/confirm-once.ts';
import { CallSlots } from './pipeline/agent-gate.ts';
import { Breakers } from './pipeline/breakers.ts';
import type { CallDeps } from './pipeline/call.ts';
import type { Caller } from './pipeline/call-request.ts';
import { Conversations } from './pipeline/conversations.ts';
import { EventTaps } from './pipeline/event-taps.ts';
import { Instances } from './pipeline/instances.ts';
import { CallLimits, ownOf } from './pipeline/limits.ts';
import { Mandates } from './pipeline/mandates.ts';
import { ParkedCalls } from './pipeline/parked-calls.ts';
import { credentialCheck } from './pipeline/prepare.ts';
import { SharedCounts } from './pipeline/shared-counts.ts';
import { failure } from './reasons.ts';

export interface Pipeline {
  /** What `runCall` takes. */
  readonly deps: CallDeps & { readonly webhooks: InboundWebhooks };
  /** Nodes that are connected here. */
  readonly nodes: NodeLinks;
  readonly jobs: JobCalls | undefined;
  /** The jobs, or without them what the tasks of A2A clients run as. */
  readonly tasks: JobCalls;
  /** Agents, or their health, changed: what joined or recovered starts slowly. */
  noteInstances(agentIds: readonly string[]): void;
  /** Asks the agent now how it is and what it offers. */
  check(agentId: string): Promise<void>;
  /** Begins to ask agents and to run jobs. */
  start(): void;
  /** Asks no agent any more; calls in flight go on. */
  stopWatching(): void;
  /** Counts what is left, and closes every agent. */
  close(): Promise<void>;
}

/** `onListChanged`: an agent says that one of its lists changed. */
export function createPipeline(
  options: GatewayOptions,
  onListChanged: (agentId: string, kind: ListKind) => void,
): Pipeline {
  const { config, registry, observer, coordination, identity, clock = systemClock } = options;
  const { firstProbesMs } = options;
  const { log } = observer;
  const { realm, audit } = identity ?? {};
  const authoriser = createAuthoriser(options, log);
  const adapters = new AdapterPool({ open: (manifest) => openAdapter(manifest), log });
  const nodes = new NodeLinks();
  const onHealth = observer.agentHealth.bind(observer);
  const monitor = new HealthMonitor({ registry, adapters, log, clock, onHealth, firstProbesMs });
  const { discovered: store, pinning } = options;
  const discovery = new Discovery({ registry, authoriser, adapters, log, store, pinning });
  const validators = new SchemaValidators({ log });
  const limits = new CallLimits({
    limits: config.limits,
    clock,
    onLimited: observer.limited.bind(observer),
    isShared: realm !== undefined,
  });
  const counts = realm && new SharedCounts({ realm, sources: limits.sources, log });
  const breakers = new Breakers({ clock, onChange: observer.breakerChanged.bind(observer) });
  const instances = new Instances({ clock, breakers, nodes, ...placeOf(config) });
  const deps = {
    registry,
    authoriser,
    adapters,
    discovery,
    limits,
    ...slotsOf(config),
    breakers,
    instances,
    guard: new RecursionGuard({
      limit: config.limits.depth,
      clock,
      onBlocked: observer.recursionBlocked.bind(observer),
    }),
    mandates: createMandates(options, clock),
    conversations: new Conversations({
      ...options,
      key: options.conversationKey,
      answered: options.realm?.store,
      ...{ clock, validators, log },
    }),
    parked: new ParkedCalls(),
    taps: new EventTaps(),
    schemas: new ArgumentSchemas(validators),
    webhooks: new InboundWebhooks({ publicUrl: config.a2a.public_url, clock }),
    audit: audit ? audit.record.bind(audit) : () => {},
    assertCurrent: credentialCheck(options.authenticator),
    onCredentials: (listener) => options.authenticator.onChange?.(listener),
    assertMember: (caller, sessionId) => assertMember(coordination, caller, sessionId),
    unprefixed: config.mcp.unprefixed,
    confirm: pinning && confirmOnce(pinning, discovery.confirm),
    clock,
    log,
    observer,
    resultLength: config.limits.result_bytes,
    stallMs: options.stallMs,
  } satisfies CallDeps;
  const createJobs = (engine: JobEngine) => new JobCalls({ engine, rules: config.jobs, deps });
  const jobs = options.jobs && createJobs(options.jobs);
  const tasks = jobs ?? createJobs(createBoundedJobs(clock));
  return {
    deps,
    nodes,
    jobs,
    tasks,
    noteInstances(agentIds) {
      for (const agentId of agentIds) instances.note(agentId, registry.get(agentId));
    },
    async check(agentId) {
      await monitor.check(agentId);
      await discovery.refresh(agentId);
    },
    start() {
      discovery.start();
      monitor.start();
      tasks.start();
    },
    stopWatching() {
      monitor.stop();
      discovery.close();
    },
    async close() {
      await counts?.close();
      await adapters.close();
    },
  };

  async function openAdapter(manifest: Manifest): Promise<Adapter> {
    const isBehindNode = manifest.endpoint.transport === 'node';
    const adapter = isBehindNode
      ? openNodeAdapter(manifest, nodes)
      : await options.openAdapter(manifest);
    if (isMcpRelay(adapter)) {
      for (const kind of LIST_KINDS)
        adapter.onListChanged(kind, () => onListChanged(manifest.agent_id, kind));
    }
    return adapter;
  }
}

/** Where this gateway runs. */
export function placeOf({ registry }: GatewayConfig): {
  readonly nodeId?: string | undefined;
  readonly region?: string | undefined;
} {
  if (registry.kind !== 'yaml' && registry.kind !== 'postgres') return {};
  return { nodeId: registry.node_id, region: registry.region };
}

function createMandates({ config, identity, observer }: GatewayOptions, clock: Clock): Mandates {
  const { depth, budget_calls, budget_ms } = config.limits;
  const limit = { calls: budget_calls, ms: budget_ms };
  const realm = identity?.realm;
  return new Mandates({
    mint: identity?.mint,
    budgets: new TraceBudgets({ limit, realm, clock, log: observer.log }),
    maxDepth: depth,
    jobsMs: config.mandates.jobs_ms,
  });
}

function slotsOf({ limits }: GatewayConfig) {
  const { calls_per_principal, calls_per_agent, principals, agents } = limits;
  return {
    callerSlots: new CallSlots({
      of: 'principal',
      limit: calls_per_principal,
      own: ownOf(principals, ({ calls }) => calls),
    }),
    agentSlots: new CallSlots({
      of: 'agent',
      limit: calls_per_agent,
      own: ownOf(agents, ({ calls }) => calls),
    }),
  };
}

function createAuthoriser({ config, sharedRules }: GatewayOptions, log: Log): Authoriser {
  const onFailure = (rule: string, error: unknown) =>
    log.warn({ rule, error: FabricError.from(error) }, 'a policy rule failed, which denies');
  const own = new Policy(config.policy, { onFailure });
  return new Authoriser(own, sharedRules && (() => sharedRules.policy));
}

/** A call may belong to a session only when its caller has an agent there. */
async function assertMember(
  coordination: Coordination | undefined,
  { principal }: Caller,
  sessionId: string,
): Promise<void> {
  const contexts = coordination?.services.principalContexts;
  if ((await contexts?.read(principal, sessionId)) !== undefined) return;
  throw failure('unknown_session/member', { session_id: sessionId });
}
