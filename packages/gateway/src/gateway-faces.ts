// What the gateway serves, and over what: its tools, MCP, coordination and A2A, and the transports that
// bring their requests.

import type { Coordination } from '@starloom/coordination';
import type { JobEngine, Journal } from '@starloom/core';
import { type Identity, ProtectedResource } from '@starloom/identity';
import type { ListKind } from '@starloom/mcp-client/server';
import type { SharedRules } from '@starloom/registry';
import { createAddressGuard } from '@starloom/wire';
import { A2aEndpoint } from './a2a/endpoint.ts';
import type { GatewayConfig } from './config.ts';
import { CONSOLE_ROOT, Console } from './console/console.ts';
import type { GatewayOptions } from './gateway.ts';
import type { Pipeline } from './gateway-pipeline.ts';
import type { InFlight } from './in-flight.ts';
import type { JobCalls } from './jobs/job-calls.ts';
import { McpEndpoint } from './mcp/endpoint.ts';
import { RelayFace } from './mcp/relay-face.ts';
import { SessionResources } from './mcp/session-resources.ts';
import { NodeEndpoint } from './nodes/node-endpoint.ts';
import { VisibleAgents } from './pipeline/route.ts';
import { Registrations } from './registrations.ts';
import { RpcEndpoint } from './rpc/endpoint.ts';
import { agentDescribeTool, agentListTool } from './tools/agents.ts';
import { callTool } from './tools/call.ts';
import { GatewayTools } from './tools/catalog.ts';
import { coordinationTools } from './tools/coordination.ts';
import { type Engine, healthTool } from './tools/health.ts';
import { jobTools } from './tools/job-tools.ts';
import { eraseTool, journalTools } from './tools/journal-tools.ts';
import { registrationTools } from './tools/registration-tools.ts';
import { routePreviewTool } from './tools/route-preview.ts';
import type { Toolset } from './tools/tool-lists.ts';
import { HttpTransport } from './transports/http.ts';
import { HeldBytes } from './transports/reply.ts';
import type { Routes, UpgradeRoutes } from './transports/routes.ts';
import { WebSocketTransport } from './transports/websocket.ts';

/** What requests come by, whichever face they are for. */
export interface Wires {
  readonly held: HeldBytes;
  readonly webSocket: WebSocketTransport;
  /** Tells OAuth callers which scopes they need. */
  readonly resource?: ProtectedResource | undefined;
  /** Requests count until their answer has left. */
  readonly inFlight: InFlight;
}

export interface Faces {
  readonly mcp: McpEndpoint;
  readonly relay: RelayFace;
  readonly rpc: RpcEndpoint | undefined;
  readonly a2a: A2aEndpoint;
  readonly nodes: NodeEndpoint;
  readonly console: Console | undefined;
  readonly routes: Routes;
  readonly upgrades: UpgradeRoutes;
  /** Notifies the clients whose lists show it. */
  listChanged(kind: ListKind): void;
}

export function createWires({ config, observer }: GatewayOptions, inFlight: InFlight): Wires {
  const { bytes_per_principal: perPrincipal, body_bytes: maxMessageBytes } = config.limits;
  const onCut = () => observer.streamDropped('bytes_per_principal');
  const held = new HeldBytes({ perPrincipal, onCut });
  const { oauth } = config.auth;
  return {
    held,
    webSocket: new WebSocketTransport({ maxMessageBytes, held }),
    resource: oauth && new ProtectedResource(oauth),
    inFlight,
  };
}

export function createFaces(options: GatewayOptions, pipeline: Pipeline, wires: Wires): Faces {
  const { config, coordination, version, observer } = options;
  const { deps, jobs, tasks } = pipeline;
  const { log } = observer;
  const registrations = new Registrations(options.registry, sharedRulesOf(config));
  const catalog = createTools(options, pipeline, registrations);
  const contexts = coordination?.services.principalContexts;
  const sessions = contexts && new SessionResources(contexts);
  const relay = new RelayFace({ ...deps, expose: config.mcp.expose, sessions });
  const mcp = new McpEndpoint({
    ...wires,
    face: {
      catalog,
      discovery: deps.discovery,
      relay,
      version,
      inFlight: wires.inFlight,
      jobs,
      credentials: options.identity,
      audit: deps.audit,
      listLimit: config.mcp.list_limit,
    },
    toolNames: config.mcp.tool_names,
    toolsets: toolsetsOf(config, jobs),
    log,
    observer,
    sessions: options.sessions,
    realm: options.realm,
  });
  const rpc =
    coordination &&
    new RpcEndpoint({
      ...wires,
      coordination,
      agentsFor: (principal) => new VisibleAgents(principal, deps),
      registrations,
      limits: deps.limits,
      log,
      observer,
    });
  const a2a = new A2aEndpoint({
    ...deps,
    jobs: tasks,
    guard: createAddressGuard({ allow: config.jobs.webhook_hosts }),
    config,
    version,
    authenticator: options.authenticator,
    inFlight: wires.inFlight,
    bodyBytes: config.limits.body_bytes,
  });
  const nodes = new NodeEndpoint({
    ...wires,
    links: pipeline.nodes,
    registry: options.registry,
    registrations,
    resultLength: config.limits.result_bytes,
    version,
    log,
    heartbeatMs: options.nodeHeartbeatMs,
  });
  const console =
    options.console && config.console.enabled
      ? new Console({
          ...options.console,
          gateway: options,
          pipeline,
          catalog,
          registrations,
          coordination,
          engines: enginesOf(options),
        })
      : undefined;
  return {
    mcp,
    relay,
    rpc,
    a2a,
    nodes,
    console,
    routes: {
      ...mcp.routes,
      ...rpc?.routes,
      ...a2a.routes,
      ...(console && { [CONSOLE_ROOT]: console.route }),
    },
    upgrades: { ...mcp.upgrades, ...rpc?.upgrades, ...nodes.upgrades },
    listChanged(kind) {
      if (kind === 'tools') catalog.invalidate();
      mcp.listChanged(kind);
    },
  };
}

/** `unready`: why this gateway should get no requests. */
export function createHttp(
  options: GatewayOptions,
  { routes, upgrades, console }: Faces,
  { held, resource, inFlight }: Wires,
  webhooks: Pipeline['deps']['webhooks'],
  unready: () => string | undefined,
): HttpTransport {
  const { config, identity, certificates, authenticator, observer } = options;
  return new HttpTransport({
    ...config.listen,
    certificates,
    bodyBytes: config.limits.body_bytes,
    socketsPerPrincipal: config.limits.sockets_per_principal,
    held,
    authenticator,
    observer,
    inFlight,
    onDenied: (...refused) => identity?.audit?.denied(...refused),
    jwks: identity && (() => JSON.stringify(identity.jwks())),
    resource,
    unready,
    webhooks,
    console,
    routes,
    upgrades,
  });
}

function createTools(
  options: GatewayOptions,
  { deps, jobs }: Pipeline,
  registrations: Registrations,
): GatewayTools {
  const { config, coordination, journal, version } = options;
  return new GatewayTools({
    own: {
      fabric: [
        agentListTool(deps),
        agentDescribeTool(deps, deps.discovery),
        callTool(deps, jobs),
        routePreviewTool(deps),
        healthTool({ ...deps, version, engines: enginesOf(options) }),
      ],
      jobs: jobs ? jobTools(jobs) : [],
      registry: registrationTools(registrations, deps),
      journal: [
        ...(journal ? journalTools(journal) : []),
        eraseTool({
          journal,
          jobs: options.jobs,
          endSessions: coordination && ((id) => coordination.services.ending.endOwned(id)),
        }),
      ],
      coordination: coordination ? coordinationTools(coordination, deps.limits) : [],
    },
    deps,
    jobs,
    expose: config.mcp.expose,
  });
}

/** What agents that register may make this gateway do; nothing unless its file says so. */
function sharedRulesOf({ registry }: GatewayConfig): SharedRules {
  if (registry.kind !== 'yaml' && registry.kind !== 'postgres')
    return { commands: [], secrets: [] };
  return registry;
}

/** The tools of jobs are listed with our other ones, where jobs are on. */
export function toolsetsOf({ mcp }: GatewayConfig, jobs: JobCalls | undefined): readonly Toolset[] {
  const { toolsets } = mcp;
  return jobs && toolsets.includes('fabric') ? [...toolsets, 'jobs'] : toolsets;
}

function enginesOf(options: {
  readonly config: GatewayConfig;
  readonly coordination?: Coordination | undefined;
  readonly jobs?: JobEngine | undefined;
  readonly journal?: Journal | undefined;
  readonly identity?: Pick<Identity, 'audit'> | undefined;
}): Readonly<Record<string, Engine>> {
  const { coordination, jobs, journal, config, identity } = options;
  const audit = identity?.audit;
  const { kind } = config.coordination;
  return {
    ...(coordination && { coordination: { kind, check: () => coordination.check() } }),
    ...(jobs && { jobs: { kind: jobs.kind, check: () => jobs.check().then(() => []) } }),
    ...(journal && {
      journal: { kind: journal.kind, check: () => journal.check().then(() => []) },
    }),
    ...(audit && { audit: { kind: 'file', check: () => audit.check().then(() => []) } }),
  };
}
