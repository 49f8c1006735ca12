// The gateway put together: what the parts are is decided by the caller, how they meet stands here.

import { hostname } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import type { Coordination } from '@starloom/coordination';
import {
  type Adapter,
  type Clock,
  HEADER,
  type JobEngine,
  type Journal,
  type Manifest,
  type Registry,
} from '@starloom/core';
import { type Authenticator, type Identity, LOCAL_PRINCIPAL } from '@starloom/identity';
import { LIST_KINDS, type ListKind } from '@starloom/mcp-client/server';
import { findPrincipal, type GatewayConfig } from './config.ts';
import type { ConsoleOptions } from './console/console.ts';
import type { DiscoveredCapabilities } from './discovered-file.ts';
import {
  createFaces,
  createHttp,
  createWires,
  type Faces,
  toolsetsOf,
  type Wires,
} from './gateway-faces.ts';
import { createPipeline, type Pipeline, placeOf } from './gateway-pipeline.ts';
import { InFlight } from './in-flight.ts';
import type { ScheduledCall } from './jobs/job-call.ts';
import type { SessionLimits } from './mcp/http-sessions.ts';
import type { SessionRealm } from './mcp/shared-sessions.ts';
import type { Observer } from './observe/observer.ts';
import type { Pinning } from './pinning/pinning.ts';
import type { SharedRules } from './shared-rules.ts';
import type { HttpTransport } from './transports/http.ts';
import type { TlsFiles } from './transports/listener.ts';
import { stdioChannel } from './transports/stdio.ts';

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
  /** Where calls are written down; without it none are. */
  readonly journal?: Journal | undefined;
  /** Seals conversation ids; gateways with the same key take up each other's. */
  readonly conversationKey?: Buffer | undefined;
  /** Names this gateway among those of its realm; the same after a restart. */
  readonly gatewayId?: string | undefined;
  /** The secret that all gateways of a fleet have, and what they share; none where there is one gateway. */
  readonly realm?: SessionRealm | undefined;
  /** What agents said they offer, in earlier runs. */
  readonly discovered?: DiscoveredCapabilities | undefined;
  /** Holds agents to what operators approved; without it every change of theirs is served. */
  readonly pinning?: Pinning | undefined;
  /** Rules of the realm, beside those of the configuration. */
  readonly sharedRules?: SharedRules | undefined;
  /** The page for people; without it there is none. */
  readonly console?: ConsoleOptions | undefined;
  readonly clock?: Clock;
  /** How long a reader of events may take nothing before it is cut off. */
  readonly stallMs?: number;
  /** How many sessions older clients may have over HTTP, and for how long without using them. */
  readonly sessions?: Partial<SessionLimits> | undefined;
  /** How often this gateway and its nodes make sure of each other. */
  readonly nodeHeartbeatMs?: number | undefined;
  /** How long a shutdown waits for what is in flight. */
  readonly drainMs?: number;
  /** How long the first probes of agents let the first requests go before them; 0 by default. */
  readonly firstProbesMs?: number;
}

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #pipeline: Pipeline;
  readonly #wires: Wires;
  readonly #faces: Faces;
  readonly #http: HttpTransport;
  readonly #unwatch: () => void;
  /** Every path that is served; a test walks them all. */
  readonly paths: { readonly routes: readonly string[]; readonly upgrades: readonly string[] };
  #draining = false;

  constructor(options: GatewayOptions) {
    this.#options = options;
    keepJournal(options);
    this.#pipeline = createPipeline(options, (...changed) => this.#agentListChanged(...changed));
    this.#wires = createWires(options, new InFlight());
    this.#faces = createFaces(options, this.#pipeline, this.#wires);
    const { routes, upgrades } = this.#faces;
    this.paths = { routes: Object.keys(routes), upgrades: Object.keys(upgrades) };
    const { coordination, sharedRules } = options;
    const unready = () =>
      this.#draining ? 'shutting down' : (coordination?.failure?.message ?? sharedRules?.problem);
    const { webhooks } = this.#pipeline.deps;
    this.#http = createHttp(options, this.#faces, this.#wires, webhooks, unready);
    const unwatch = options.registry.watch(({ kind, agentIds }) => {
      if (kind === 'capabilities') this.#faces.listChanged('tools');
      else this.#pipeline.noteInstances(agentIds);
      if (kind === 'agents') this.#agentsChanged(agentIds);
    });
    const unfollow = sharedRules?.onChange(() => this.#listsChanged());
    this.#unwatch = () => {
      unwatch();
      unfollow?.();
    };
  }

  /** Begins to serve over HTTP; the URL it is reached under. */
  async listen(): Promise<string> {
    const { config } = this.#options;
    const { a2a } = this.#faces;
    await this.#pipeline.jobs?.schedule(schedulesOf(config));
    const url = await this.#http.listen();
    this.#pipeline.deps.webhooks.listensAt(url);
    await a2a.listen(config.listen.host, url);
    a2a.start();
    this.#pipeline.start();
    return url;
  }

  /** A code that opens the console once for the owner of this key; `undefined` without a console. */
  async createConsoleCode(keyId: string): Promise<string | undefined> {
    const known = this.#options.authenticator.keys?.find(keyId);
    return known && (await this.#faces.console?.createCode(known.principal));
  }

  /** Calls of this agent from now on go over new connections; those in flight go on. */
  reopen(agentId: string): void {
    this.#pipeline.deps.adapters.retire(agentId);
    this.#faces.relay.agentChanged(agentId);
  }

  /**
   * Serves one client over a pair of streams; resolves when it is gone. Its calls are at least `depth`
   * deep: an agent of another gateway may have started this one.
   */
  async serveStdio(input: Readable, output: Writable, depth = 1): Promise<void> {
    const { config, observer, drainMs = DRAIN_MS } = this.#options;
    const { jobs } = this.#pipeline;
    await jobs?.schedule(schedulesOf(config));
    this.#pipeline.start();
    const maxLineBytes = config.limits.body_bytes;
    const untilAnswered = () => this.#wires.inFlight.untilIdle(drainMs);
    const { log } = observer;
    const channel = stdioChannel({ input, output, maxLineBytes, log, untilAnswered });
    await this.#faces.mcp.serveChannel(channel, {
      principal: LOCAL_PRINCIPAL,
      transport: 'stdio',
      headers: depth > 1 ? { [HEADER.depth]: String(depth) } : {},
      toolNames: config.mcp.tool_names,
      toolsets: toolsetsOf(config, jobs),
    });
  }

  /**
   * Takes nothing new, finishes what is in flight until its answer has left or `drainMs` is over, then
   * frees everything. Meanwhile `/readyz` and new requests are answered with 503.
   */
  async close(): Promise<void> {
    if (this.#draining) return;
    this.#draining = true;
    const { inFlight, webSocket } = this.#wires;
    const { mcp, relay, rpc, a2a, nodes, console } = this.#faces;
    inFlight.close();
    await console?.close();
    this.#unwatch();
    this.#pipeline.stopWatching();
    const drainMs = this.#options.drainMs ?? DRAIN_MS;
    const until = performance.now() + drainMs;
    rpc?.endWaiting();
    await inFlight.untilIdle(drainMs);
    // Questions without an answer until here are answered with "cancel".
    this.#pipeline.deps.parked.close();
    await rpc?.close(Math.max(0, until - performance.now()));
    // Callers may have waited for jobs until here. One that still runs goes on elsewhere, or fails.
    await this.#pipeline.tasks.stop(Math.max(0, until - performance.now()));
    await a2a.close();
    await mcp.close();
    relay.close();
    await nodes.close();
    await webSocket.close();
    await this.#http.close();
    await this.#pipeline.close();
  }

  #agentsChanged(agentIds: readonly string[]): void {
    const { registry, observer } = this.#options;
    const { adapters, breakers } = this.#pipeline.deps;
    for (const agentId of agentIds) {
      const record = registry.get(agentId);
      adapters.retire(
        agentId,
        record?.instances?.map(({ manifest }) => manifest),
      );
      this.#faces.relay.agentChanged(agentId);
      breakers.forget(agentId);
      if (!record) observer.agentGone(agentId);
    }
    this.#listsChanged();
  }

  /** Of what callers see. */
  #listsChanged(): void {
    for (const kind of LIST_KINDS) this.#faces.listChanged(kind);
  }

  #agentListChanged(agentId: string, kind: ListKind): void {
    const { expose } = this.#options.config.mcp;
    if (kind === 'tools') void this.#pipeline.deps.discovery.refresh(agentId);
    else if (expose === 'all' || expose.includes(agentId)) this.#faces.listChanged(kind);
  }
}

function keepJournal({ journal, observer, config }: GatewayOptions): void {
  if (!journal || config.journal.kind === 'off') return;
  const { nodeId: gateway = hostname() } = placeOf(config);
  observer.keepJournal({ journal, gateway, payloads: config.journal.payloads });
}

/** The calls that the configuration makes at certain times. */
function schedulesOf({ auth, jobs }: GatewayConfig): readonly ScheduledCall[] {
  return jobs.schedules.map(({ agent_id: agentId, principal, ...schedule }) => ({
    ...schedule,
    agentId,
    principal: findPrincipal(auth, principal) ?? LOCAL_PRINCIPAL,
  }));
}
