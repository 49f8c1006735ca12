// The gateway put together: what the parts are is decided by the caller, how they meet stands here.

import type { Readable, Writable } from 'node:stream';
import type { Coordination } from '@starloom/coordination';
import {
  type Adapter,
  type Clock,
  HEADER,
  type JobEngine,
  type Manifest,
  RecursionGuard,
  type Registry,
  systemClock,
} from '@starloom/core';
import {
  type Authenticator,
  denied,
  type Identity,
  LOCAL_PRINCIPAL,
  ProtectedResource,
  TraceBudgets,
} from '@starloom/identity';
import { createAddressGuard } from '@starloom/wire';
import { SchemaValidators } from '@starloom/wire/foreign-schema';
import { A2aEndpoint } from './a2a/endpoint.ts';
import { createBoundedJobs } from './a2a/memory-jobs.ts';
import { AdapterPool } from './adapter-pool.ts';
import { ArgumentSchemas } from './argument-schemas.ts';
import type { GatewayConfig } from './config.ts';
import type { DiscoveredCapabilities } from './discovered-file.ts';
import { Discovery } from './discovery.ts';
import {
  budgetOf,
  createAuthoriser,
  enginesOf,
  jobRulesOf,
  schedulesOf,
  slotsOf,
  toolsetsOf,
} from './gateway-parts.ts';
import { HealthMonitor } from './health-monitor.ts';
import { InFlight } from './in-flight.ts';
import { InboundWebhooks } from './inbound-webhooks.ts';
import { JobCalls } from './jobs/job-calls.ts';
import { McpEndpoint } from './mcp/endpoint.ts';
import type { SessionLimits } from './mcp/http-sessions.ts';
import { LIST_KINDS, type ListKind, watchLists } from './mcp/list-changes.ts';
import { RelayFace } from './mcp/relay-face.ts';
import { SessionResources } from './mcp/session-resources.ts';
import type { Observer } from './observe/observer.ts';
import type { Pinning } from './pinning/pinning.ts';
import { agentsFor } from './pipeline/authorise.ts';
import { Breakers } from './pipeline/breaker.ts';
import type { CallDeps } from './pipeline/call.ts';
import { CallLimits } from './pipeline/call-limits.ts';
import type { Caller } from './pipeline/call-request.ts';
import { Conversations } from './pipeline/conversations.ts';
import { Mandates } from './pipeline/mandates.ts';
import { ParkedCalls } from './pipeline/parked-calls.ts';
import { assertMember } from './pipeline/session-member.ts';
import { SharedCounts } from './pipeline/shared-counts.ts';
import { RpcEndpoint } from './rpc/endpoint.ts';
import { agentDescribeTool } from './tools/agent-describe.ts';
import { agentListTool } from './tools/agent-list.ts';
import { callTool } from './tools/call.ts';
import { GatewayTools } from './tools/catalog.ts';
import { coordinationTools } from './tools/coordination.ts';
import { healthTool } from './tools/health.ts';
import { jobTools } from './tools/job-tools.ts';
import { routePreviewTool } from './tools/route-preview.ts';
import { HeldBytes } from './transports/held-bytes.ts';
import { HttpTransport } from './transports/http.ts';
import { stdioChannel } from './transports/stdio.ts';
import type { TlsFiles } from './transports/tls-files.ts';
import { WebSocketTransport } from './transports/websocket.ts';

/** How long a shutdown waits for calls and their answers by default. */
const DRAIN_MS = 30_000;

export interface GatewayOptions {
  readonly config: GatewayConfig;
  readonly registry: Registry;
  readonly openAdapter: (manifest: Manifest) => Promise<Adapter>;
  readonly authenticator: Authenticator;
  /** Mints mandates and shows the keys to verify them; without it there are none. */
  readonly identity?: Identity | undefined;
  readonly observer: Observer;
  /** Encrypts the port of HTTP. */
  readonly certificates?: TlsFiles | undefined;
  readonly version: string;
  /** The coordination plane, served at `/rpc` and at the path of each service. */
  readonly coordination?: Coordination | undefined;
  /** Where accepted calls are kept; without it there are no jobs. */
  readonly jobs?: JobEngine | undefined;
  /** Seals conversation ids; gateways with the same key take up each other's. */
  readonly conversationKey?: Buffer | undefined;
  /** What agents said they offer, in earlier runs. */
  readonly discovered?: DiscoveredCapabilities | undefined;
  /** Holds agents to what operators approved; without it every change of theirs is served. */
  readonly pinning?: Pinning | undefined;
  readonly clock?: Clock;
  /** How long a reader of events may take nothing before it is cut off. */
  readonly stallMs?: number;
  /** How many sessions older clients may have over HTTP, and for how long without using them. */
  readonly sessions?: Partial<SessionLimits> | undefined;
  /** How long a shutdown waits for what is in flight. */
  readonly drainMs?: number;
}

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #adapters: AdapterPool;
  readonly #monitor: HealthMonitor;
  readonly #discovery: Discovery;
  readonly #catalog: GatewayTools;
  readonly #mcp: McpEndpoint;
  readonly #relay: RelayFace;
  readonly #rpc: RpcEndpoint | undefined;
  readonly #http: HttpTransport;
  readonly #webSocket: WebSocketTransport;
  readonly #unwatch: () => void;
  readonly #webhooks: InboundWebhooks;
  readonly #inFlight = new InFlight();
  readonly #parked = new ParkedCalls();
  readonly #jobs: JobCalls | undefined;
  /** The jobs, or without them what the tasks of A2A clients run as. */
  readonly #tasks: JobCalls;
  readonly #a2a: A2aEndpoint;
  readonly #counts: SharedCounts | undefined;
  /** Every path that is served; a test walks them all. */
  readonly paths: { readonly routes: readonly string[]; readonly upgrades: readonly string[] };
  #draining = false;

  constructor(options: GatewayOptions) {
    this.#options = options;
    const { config, registry, observer, version, coordination, clock = systemClock } = options;
    const { log } = observer;
    const realm = options.identity?.realm;
    const authoriser = createAuthoriser(config, log);
    this.#adapters = new AdapterPool({ open: (manifest) => this.#openAdapter(manifest), log });
    this.#webhooks = new InboundWebhooks({ publicUrl: config.a2a.public_url, clock });
    const breakers = new Breakers({ clock, onChange: observer.breakerChanged.bind(observer) });
    const guard = new RecursionGuard({
      limit: config.limits.depth,
      clock,
      onBlocked: observer.recursionBlocked.bind(observer),
    });
    this.#monitor = new HealthMonitor({
      registry,
      adapters: this.#adapters,
      log,
      clock,
      onHealth: observer.agentHealth.bind(observer),
    });
    this.#discovery = new Discovery({
      registry,
      authoriser,
      adapters: this.#adapters,
      log,
      store: options.discovered,
      pinning: options.pinning,
    });
    const validators = new SchemaValidators({ log });
    const conversations = new Conversations({ clock, key: options.conversationKey, validators });
    const limits = new CallLimits({
      limits: config.limits,
      clock,
      onLimited: observer.limited.bind(observer),
      isShared: realm !== undefined,
    });
    this.#counts = realm && new SharedCounts({ realm, sources: limits.sources, log });
    const deps: CallDeps = {
      conversations,
      parked: this.#parked,
      ...slotsOf(config),
      limits,
      mandates: new Mandates({
        mint: options.identity?.mint,
        budgets: new TraceBudgets({ limit: budgetOf(config), realm, clock, log }),
        maxDepth: config.limits.depth,
        jobsMs: config.mandates.jobs_ms,
      }),
      audit: (entry) => options.identity?.audit?.record(entry),
      assertCurrent: (caller) => assertCurrent(options.authenticator, caller),
      onCredentials: (listener) => options.authenticator.onChange?.(listener),
      assertMember: (caller, sessionId) => assertMember(coordination, caller, sessionId),
      registry,
      authoriser,
      adapters: this.#adapters,
      webhooks: this.#webhooks,
      breakers,
      guard,
      schemas: new ArgumentSchemas(validators),
      discovery: this.#discovery,
      unprefixed: config.mcp.unprefixed,
      confirm: options.pinning && this.#discovery.confirm,
      clock,
      log,
      observer,
      resultLength: config.limits.result_bytes,
      stallMs: options.stallMs,
    };
    const jobs =
      options.jobs && new JobCalls({ ...jobRulesOf(config, options.jobs), deps, clock, log });
    this.#jobs = jobs;
    const tasks =
      jobs ?? new JobCalls({ ...jobRulesOf(config, createBoundedJobs(clock)), deps, clock, log });
    this.#tasks = tasks;
    this.#a2a = new A2aEndpoint({
      registry,
      authoriser,
      discovery: this.#discovery,
      jobs: tasks,
      guard: createAddressGuard({ allow: config.jobs.webhook_hosts }),
      config,
      version,
      log,
      clock,
      authenticator: options.authenticator,
      inFlight: this.#inFlight,
      observer,
      bodyBytes: config.limits.body_bytes,
    });
    const toolsets = toolsetsOf(config, jobs);
    this.#catalog = new GatewayTools({
      own: {
        fabric: [
          agentListTool(deps),
          agentDescribeTool(deps, this.#discovery),
          callTool(deps, jobs),
          routePreviewTool(deps),
          healthTool({ ...deps, version, engines: enginesOf(options) }),
        ],
        jobs: jobs ? jobTools(jobs) : [],
        coordination: coordination ? coordinationTools(coordination, limits) : [],
      },
      registry,
      discovery: this.#discovery,
      deps,
      jobs,
      log,
      expose: config.mcp.expose,
      unprefixed: config.mcp.unprefixed,
    });
    const resource = config.auth.oauth && new ProtectedResource(config.auth.oauth);
    const contexts = coordination?.services.principalContexts;
    const relay = new RelayFace({
      registry,
      authoriser,
      guard,
      clock,
      adapters: this.#adapters,
      log,
      expose: config.mcp.expose,
      unprefixed: config.mcp.unprefixed,
      sessions: contexts && new SessionResources(contexts),
    });
    this.#relay = relay;
    const held = new HeldBytes({
      perPrincipal: config.limits.bytes_per_principal,
      onCut: () => observer.streamDropped('bytes_per_principal'),
    });
    this.#webSocket = new WebSocketTransport({ maxMessageBytes: config.limits.body_bytes, held });
    this.#mcp = new McpEndpoint({
      face: {
        catalog: this.#catalog,
        discovery: this.#discovery,
        relay,
        version,
        inFlight: this.#inFlight,
        jobs,
        credentials: options.identity,
        audit: deps.audit,
        listLimit: config.mcp.list_limit,
      },
      toolNames: config.mcp.tool_names,
      toolsets,
      held,
      webSocket: this.#webSocket,
      log,
      observer,
      resource,
      sessions: options.sessions,
    });
    const rpc =
      coordination &&
      new RpcEndpoint({
        coordination,
        agentsFor: (principal) => agentsFor(principal, deps),
        webSocket: this.#webSocket,
        inFlight: this.#inFlight,
        limits,
        held,
        resource,
        log,
        observer,
      });
    this.#rpc = rpc;
    const routes = { ...this.#mcp.routes, ...rpc?.routes, ...this.#a2a.routes };
    const upgrades = { ...this.#mcp.upgrades, ...rpc?.upgrades };
    this.paths = { routes: Object.keys(routes), upgrades: Object.keys(upgrades) };
    this.#http = new HttpTransport({
      ...config.listen,
      certificates: options.certificates,
      bodyBytes: config.limits.body_bytes,
      socketsPerPrincipal: config.limits.sockets_per_principal,
      held,
      authenticator: options.authenticator,
      observer,
      inFlight: this.#inFlight,
      onDenied: (...refused) => options.identity?.audit?.denied(...refused),
      jwks: options.identity && (() => JSON.stringify(options.identity?.jwks())),
      resource,
      unready: () => (this.#draining ? 'shutting down' : coordination?.failure?.message),
      webhooks: this.#webhooks,
      routes,
      upgrades,
    });
    this.#unwatch = registry.watch(({ kind, agentIds }) => {
      if (kind === 'capabilities') this.#listChanged('tools');
      if (kind !== 'agents') return;
      for (const agentId of agentIds) {
        this.#adapters.retire(agentId);
        relay.agentChanged(agentId);
        breakers.forget(agentId);
        if (!registry.get(agentId)) observer.agentGone(agentId);
      }
      for (const changed of LIST_KINDS) this.#listChanged(changed);
    });
  }

  /** Begins to serve over HTTP; the URL it is reached under. */
  async listen(): Promise<string> {
    await this.#jobs?.schedule(schedulesOf(this.#options.config));
    const url = await this.#http.listen();
    this.#webhooks.listensAt(url);
    await this.#a2a.listen(this.#options.config.listen.host, url);
    this.#a2a.start();
    this.#watchAgents();
    return url;
  }

  /** Calls of this agent from now on go over new connections; those in flight go on. */
  reopen(agentId: string): void {
    this.#adapters.retire(agentId);
    this.#relay.agentChanged(agentId);
  }

  /**
   * Serves one client over a pair of streams; resolves when it is gone. Its calls are at least `depth`
   * deep: an agent of another gateway may have started this one.
   */
  async serveStdio(input: Readable, output: Writable, depth = 1): Promise<void> {
    const { config, observer } = this.#options;
    await this.#jobs?.schedule(schedulesOf(config));
    this.#watchAgents();
    const maxLineBytes = config.limits.body_bytes;
    const untilAnswered = () => this.#inFlight.untilIdle(this.#options.drainMs ?? DRAIN_MS);
    const { log } = observer;
    const channel = stdioChannel({ input, output, maxLineBytes, log, untilAnswered });
    await this.#mcp.serveChannel(channel, {
      principal: LOCAL_PRINCIPAL,
      transport: 'stdio',
      headers: depth > 1 ? { [HEADER.depth]: String(depth) } : {},
      toolNames: config.mcp.tool_names,
      toolsets: toolsetsOf(config, this.#jobs),
    });
  }

  /**
   * Takes nothing new, finishes what is in flight until its answer has left or `drainMs` is over, then
   * frees everything. Meanwhile `/readyz` and new requests are answered with 503.
   */
  async close(): Promise<void> {
    if (this.#draining) return;
    this.#draining = true;
    this.#inFlight.close();
    this.#unwatch();
    this.#monitor.stop();
    this.#discovery.close();
    const drainMs = this.#options.drainMs ?? DRAIN_MS;
    const until = performance.now() + drainMs;
    this.#rpc?.endWaiting();
    await this.#inFlight.untilIdle(drainMs);
    // Questions without an answer until here are answered with "cancel".
    this.#parked.close();
    await this.#rpc?.close(Math.max(0, until - performance.now()));
    // Callers may have waited for jobs until here. One that still runs goes on elsewhere, or fails.
    await this.#tasks.stop(Math.max(0, until - performance.now()));
    await this.#a2a.close();
    await this.#mcp.close();
    this.#relay.close();
    await this.#webSocket.close();
    await this.#http.close();
    await this.#counts?.close();
    await this.#adapters.close();
  }

  #watchAgents(): void {
    this.#discovery.start();
    this.#monitor.start();
    this.#tasks.start();
  }

  async #openAdapter(manifest: Manifest): Promise<Adapter> {
    const { agent_id } = manifest;
    const { expose } = this.#options.config.mcp;
    const adapter = await this.#options.openAdapter(manifest);
    watchLists(adapter, (kind) => {
      if (kind === 'tools') void this.#discovery.refresh(agent_id);
      else if (expose === 'all' || expose.includes(agent_id)) this.#listChanged(kind);
    });
    return adapter;
  }

  #listChanged(kind: ListKind): void {
    if (kind === 'tools') this.#catalog.invalidate();
    this.#mcp.listChanged(kind);
  }
}

/** Of calls on connections and in jobs, which were let in some time ago. */
function assertCurrent(
  authenticator: Authenticator,
  { principal, isStored }: Pick<Caller, 'principal' | 'isStored'>,
): void {
  const isRefused = isStored
    ? authenticator.isRevoked?.(principal)
    : !authenticator.isCurrent(principal);
  if (!isRefused) return;
  throw denied('revoked', 'The credential was revoked or has expired', 'send another credential');
}
