// Resources, prompts, completion and skills: those of the agents that speak MCP, passed through, and the
// gateway's own, the contexts of sessions. Lists are put together from all of them, and an agent
// that does not answer hides only what is its own.

import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  type Server,
  type ServerCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isMcpRelay, type McpRelay } from '@starloom/adapters';
import {
  type Clock,
  createTrace,
  FabricError,
  type Log,
  type Manifest,
  matchesGlob,
  type Origin,
  type ProtocolNotification,
  type RecursionGuard,
  toMeta,
} from '@starloom/core';
import { onBehalfOf, type Principal } from '@starloom/identity';
import { deadlineSignal } from '@starloom/wire';
import { z } from 'zod';
import type { AdapterPool } from '../adapter-pool.ts';
import { type Access, deniedBy } from '../pipeline/authorise.ts';
import { readOrigin } from '../pipeline/origin.ts';
import { metaFor } from '../pipeline/passed-meta.ts';
import { AgentFeed } from './agent-feed.ts';
import { cleanListing, usableSkills } from './clean-listing.ts';
import { declaredBy, notifyClient } from './client-side.ts';
import type { Connection } from './connection.ts';
import type { MayFollow } from './listen-gate.ts';
import { type Credentials, identified, identifiedConnection } from './meta-credential.ts';
import { type Named, toResourceUri, uiResourceOf } from './names.ts';
import { answering, requestOf } from './protocol-error.ts';
import { type Listing, RelayedNames } from './relayed-names.ts';
import { installSubscriptions } from './resource-subscriptions.ts';
import type { SessionResources } from './session-resources.ts';
import {
  type FollowedResources,
  SessionUpdates,
  type SessionUpdatesOptions,
} from './session-updates.ts';

type Params = Record<string, unknown>;

export interface RelayFaceOptions extends Access {
  readonly guard: RecursionGuard;
  readonly clock: Clock;
  readonly adapters: AdapterPool;
  readonly log: Log;
  readonly expose: 'all' | readonly string[];
  readonly unprefixed: readonly string[];
  /** Resources of the gateway's own. */
  readonly sessions?: SessionResources | undefined;
  /** How long one agent may take to list what it has. */
  readonly listMs?: number;
  /** How long a single agent may take to answer. */
  readonly answerMs?: number;
}

const MAX_PAGES = 20;

/** SEP-2640: skills are resources, with methods of their own to find them. */
export const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills';
const anyParams = z.looseObject({});
/** Lists differ by caller. */
const UNCACHED = { ttlMs: 0, cacheScope: 'private' };

export class RelayFace {
  readonly #options: RelayFaceOptions & { readonly listMs: number; readonly answerMs: number };
  readonly #names: RelayedNames;
  readonly #feeds = new Map<string, AgentFeed>();

  constructor(options: RelayFaceOptions) {
    this.#options = { listMs: 5_000, answerMs: 60_000, ...options };
    this.#names = new RelayedNames(options.registry, options.unprefixed);
  }

  /** What a connection is sent of resources without asking; close it with the connection. */
  openUpdates(
    options: Omit<SessionUpdatesOptions, 'resources' | 'log' | 'principal'> & {
      readonly principal: Principal;
    },
  ): SessionUpdates {
    const { log } = this.#options;
    const resources = this.#followedBy(options.principal);
    return new SessionUpdates({ ...options, resources, log });
  }

  /** Whether a request may follow a resource: by the credential in its `_meta`, if it has one. */
  mayFollow(connection: Connection, credentials: Credentials): MayFollow {
    return async (uri, meta) => {
      const { principal } = await identified(credentials, { ...connection, meta });
      if (principal === connection.principal) return true;
      const resources = this.#followedBy(principal);
      if (!resources.owns(uri) || !resources.isAwaited(uri)) return resources.owns(uri);
      const watcher = { updated: () => {}, over: () => {} };
      const following = await resources.follow(uri, principal, watcher);
      following?.stop();
      return following !== undefined;
    };
  }

  /** The agent is another one now. */
  agentChanged(agentId: string): void {
    this.#feeds.get(agentId)?.restart();
  }

  close(): void {
    for (const feed of this.#feeds.values()) feed.close();
  }

  install(server: Server, connection: Connection, credentials: Credentials): void {
    const read = async (request: unknown, context: ServerContext) =>
      toRequest(
        server,
        await identifiedConnection(credentials, context, connection),
        request,
        context,
      );
    const list = (method: string, key: Listing) =>
      answering(
        connection,
        async (request: unknown, context) =>
          (await this.#list(method, key, await read(request, context))) as never,
      );
    const one = (find: (params: Params) => Named | undefined) =>
      answering(
        connection,
        async (request: unknown, context) =>
          (await this.#one(find, await read(request, context))) as never,
      );
    server.setRequestHandler('resources/list', list('resources/list', 'resources'));
    server.setRequestHandler(
      'resources/templates/list',
      list('resources/templates/list', 'resourceTemplates'),
    );
    server.setRequestHandler('prompts/list', list('prompts/list', 'prompts'));
    const byUri = ({ uri }: Params) => this.#names.resource(uri);
    server.setRequestHandler('resources/read', one(byUri));
    const skills = answering(connection, async (params: Params, context) => {
      const request = await read({ params }, context);
      return { ...(await this.#list('skills/list', 'skills', request)), ...UNCACHED };
    });
    server.setRequestHandler('skills/list', { params: anyParams }, skills);
    const file = answering(connection, async (params: Params, context) => ({
      ...(await this.#one(byUri, await read({ params }, context))),
      ...UNCACHED,
    }));
    for (const method of ['skills/get', 'resources/directory/read']) {
      server.setRequestHandler(method, { params: anyParams }, file);
    }
    server.setRequestHandler(
      'prompts/get',
      one(({ name }) => this.#names.prompt(name)),
    );
    server.setRequestHandler(
      'completion/complete',
      one(({ ref }) => this.#names.reference(ref)),
    );
    if (!connection.push) return;
    const mayFollow = this.mayFollow(connection, credentials);
    installSubscriptions(server, connection, mayFollow);
  }

  async #list(method: string, key: Listing, request: RelayRequest): Promise<Params> {
    const own = this.#ownList(key, request);
    const lists = await Promise.all(
      this.#readable(request.principal).map(async (manifest) => {
        const items = await this.#tryListOf(manifest, method, key, request);
        return items.map((item) => this.#names.toItem(manifest.agent_id, key, item));
      }),
    );
    return { [key]: [...(await own), ...lists.flat()] };
  }

  #readable(principal: Principal): Manifest[] {
    return this.#options.registry
      .list()
      .filter(({ health }) => health.status !== 'offline')
      .map(({ manifest }) => manifest)
      .filter((manifest) => this.#mayRead(manifest, principal));
  }

  async #ownList(key: Listing, { principal }: RelayRequest): Promise<Params[]> {
    const { sessions, log } = this.#options;
    if (sessions === undefined || key === 'prompts' || key === 'skills') return [];
    try {
      return await sessions.list(key, principal);
    } catch (error) {
      log.warn({ error: FabricError.from(error) }, 'sessions are not listed');
      return [];
    }
  }

  /** What the agent lists, by its own names; nothing when it does not answer. */
  async #tryListOf(
    manifest: Manifest,
    method: string,
    key: Listing,
    request: RelayRequest,
  ): Promise<Params[]> {
    try {
      return await this.#listOf(manifest, method, key, request);
    } catch (error) {
      const { agent_id } = manifest;
      this.#options.log.debug({ agent_id, method, error: FabricError.from(error) }, 'not listed');
      return [];
    }
  }

  async #listOf(manifest: Manifest, method: string, key: Listing, request: RelayRequest) {
    using deadline = deadlineSignal({ ms: this.#options.listMs, parent: request.signal });
    const { signal } = deadline;
    return await this.#withRelay(manifest, async (relay) => {
      if (!isOffered(key, await relay.serverCapabilities({ signal }))) return [];
      const items: Params[] = [];
      let cursor: unknown;
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const _meta = toAgentMeta(request, manifest);
        const params = { ...(cursor !== undefined && { cursor }), _meta };
        const answer = await relay.request(method, params, { signal });
        if (Array.isArray(answer[key])) for (const item of answer[key]) items.push(item);
        cursor = answer.nextCursor;
        if (cursor === undefined) break;
      }
      return key === 'skills' ? usableSkills(items) : cleanListing(items);
    });
  }

  /**
   * The agent that has a resource under this URI, which is the agent's own: contents are never rewritten,
   * so they may name it. BAD_INPUT when several have it.
   */
  async #ownerOf(uri: string, request: RelayRequest): Promise<Named | undefined> {
    const manifests = this.#readable(request.principal);
    const has = await Promise.all(manifests.map((each) => this.#hasResource(each, uri, request)));
    const owners = manifests.filter((_, index) => has[index]).map(({ agent_id }) => agent_id);
    const [agentId] = owners;
    if (owners.length > 1) throw ambiguous(uri, owners);
    return agentId === undefined ? undefined : { agentId, name: uri };
  }

  async #hasResource(manifest: Manifest, uri: string, request: RelayRequest): Promise<boolean> {
    const { capabilities = [] } = this.#options.registry.get(manifest.agent_id) ?? {};
    if (capabilities.some(({ mcp }) => uiResourceOf(mcp?._meta) === uri)) return true;
    const [resources, templates, skills] = await Promise.all([
      this.#tryListOf(manifest, 'resources/list', 'resources', request),
      this.#tryListOf(manifest, 'resources/templates/list', 'resourceTemplates', request),
      this.#tryListOf(manifest, 'skills/list', 'skills', request),
    ]);
    return (
      resources.some((resource) => resource.uri === uri) ||
      templates.some(({ uriTemplate }) => matchesTemplate(String(uriTemplate), uri)) ||
      skills.some((skill) => isWithin(String(skill.uri), uri))
    );
  }

  async #one(find: (params: Params) => Named | undefined, request: RelayRequest): Promise<Params> {
    const { method, params: asked, principal } = request;
    const own = this.#options.sessions?.answer(method, asked, principal);
    if (own) return await own;
    const known = find(request.params);
    const isOurs = this.#manifestOf(known, request.principal) !== undefined;
    const { uri } = request.params;
    const isForeign = !isOurs && typeof uri === 'string';
    const named = isForeign ? await this.#ownerOf(uri, request) : known;
    const manifest = this.#manifestOf(named, request.principal);
    if (!named || !manifest) throw unknown();
    this.#assertAllowed(manifest, request);
    using deadline = deadlineSignal({ ms: this.#options.answerMs, parent: request.signal });
    const { signal } = deadline;
    return await this.#withRelay(manifest, async (relay) => {
      const _meta = toAgentMeta(request, manifest);
      const params = { ...toOwnNames(request.params, named.name), _meta };
      const answer = await relay.request(request.method, params, {
        signal,
        ...(request.clientCapabilities && { clientCapabilities: request.clientCapabilities }),
        onNotification: (notification) => request.notify(notification),
      });
      return isForeign ? answer : this.#names.toAnswer(named.agentId, answer);
    });
  }

  /** Contexts of sessions, and what agents tell of that the caller may know of. */
  #followedBy(principal: Principal): FollowedResources {
    const { sessions } = this.#options;
    const isSession = (uri: unknown) => sessions?.owns(uri) ?? false;
    const isOfAgent = (uri: unknown) => {
      const named = this.#names.resource(uri);
      return this.#manifestOf(named, principal) !== undefined;
    };
    return {
      owns: (uri): uri is string => isSession(uri) || isOfAgent(uri),
      isAwaited: isSession,
      follow: async (uri, _, watcher) => {
        if (isSession(uri)) return await sessions?.follow(uri, principal, watcher);
        const named = this.#names.resource(uri);
        return named && (await this.#feedOf(named.agentId).follow(named.name, watcher.updated));
      },
      followList: async (_, onChange) =>
        (await sessions?.followList(principal, onChange)) ?? { stop: () => {} },
    };
  }

  #feedOf(agentId: string): AgentFeed {
    const known = this.#feeds.get(agentId);
    if (known) return known;
    const feed = new AgentFeed({
      log: this.#options.log.child({ agent_id: agentId }),
      listen: async (resourceSubscriptions, signal, onNotification) => {
        const manifest = this.#manifestOf({ agentId });
        if (!manifest) throw unknown();
        await this.#withRelay(manifest, (relay) => {
          const params = { notifications: { resourceSubscriptions } };
          return relay.request('subscriptions/listen', params, { signal, onNotification });
        });
      },
    });
    this.#feeds.set(agentId, feed);
    return feed;
  }

  /** The agent that is named; with a caller only when the caller may read of it. */
  #manifestOf(
    named: Pick<Named, 'agentId'> | undefined,
    principal?: Principal,
  ): Manifest | undefined {
    const manifest = named && this.#options.registry.get(named.agentId)?.manifest;
    if (!manifest || !this.#isExposed(manifest.agent_id)) return undefined;
    return !principal || this.#mayRead(manifest, principal) ? manifest : undefined;
  }

  #mayRead(manifest: Manifest, principal: Principal): boolean {
    const { authoriser } = this.#options;
    return this.#isExposed(manifest.agent_id) && authoriser.maySeeResources(principal, manifest);
  }

  #assertAllowed(manifest: Manifest, { method, principal, origin }: RelayRequest): void {
    const { authoriser, guard, clock } = this.#options;
    const { tier } = principal;
    const decision = authoriser.decideResources(principal, manifest, {
      depth: origin.hop.depth,
      time: clock.now(),
      originTier: guard.originTierOf(origin, { principal: onBehalfOf(principal), tier }) ?? tier,
    });
    if (decision.effect === 'allow') return;
    const { agent_id } = manifest;
    throw deniedBy(decision, { agent_id, capability: method });
  }

  async #withRelay<T>(manifest: Manifest, use: (relay: McpRelay) => Promise<T>): Promise<T> {
    using lease = await this.#options.adapters.lease(manifest);
    if (!isMcpRelay(lease.adapter)) throw unknown();
    return await use(lease.adapter);
  }

  #isExposed(agentId: string): boolean {
    const { expose } = this.#options;
    return expose === 'all' || expose.includes(agentId);
  }
}

interface RelayRequest {
  readonly principal: Principal;
  readonly origin: Origin;
  readonly method: string;
  readonly params: Params;
  /** As the client sent it. */
  readonly meta: Params;
  /** Of this hop: the trace, the token for progress and the level of log messages. */
  readonly hopMeta: Params;
  readonly clientCapabilities: Params | undefined;
  readonly signal: AbortSignal;
  readonly notify: (notification: ProtocolNotification) => Promise<void>;
}

function toRequest(
  server: Server,
  connection: Connection,
  request: unknown,
  context: ServerContext,
): RelayRequest {
  const { mcpReq } = context;
  const { params = {} } = request as { params?: Params };
  const meta: Params = mcpReq._meta ?? {};
  const { headers, principal } = connection;
  const origin = readOrigin({ headers, meta, principal });
  const trace = requestOf(context, connection)?.trace ?? createTrace(origin.traceId);
  const declared = declaredBy(server, context);
  const logLevel = declared[LOG_LEVEL_META_KEY];
  const { inputResponses } = mcpReq;
  const requestState = mcpReq.requestState();
  return {
    principal,
    origin,
    method: mcpReq.method,
    params: {
      ...params,
      ...(inputResponses && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
    },
    meta,
    hopMeta: {
      ...(meta.progressToken !== undefined && { progressToken: meta.progressToken }),
      ...(logLevel !== undefined && { [LOG_LEVEL_META_KEY]: logLevel }),
      ...toMeta(trace, origin.hop),
    },
    clientCapabilities: declared[CLIENT_CAPABILITIES_META_KEY] as Params | undefined,
    signal: mcpReq.signal,
    notify: (notification) => notifyClient(connection, context, notification),
  };
}

function toAgentMeta({ meta, hopMeta }: RelayRequest, manifest: Manifest): Params {
  return { ...metaFor(manifest, meta), ...hopMeta };
}

/** Whether an agent says that it has such lists. */
function isOffered(key: Listing, capabilities: ServerCapabilities): boolean {
  if (key === 'prompts') return capabilities.prompts !== undefined;
  if (key === 'skills') return capabilities.extensions?.[SKILLS_EXTENSION] !== undefined;
  return capabilities.resources !== undefined;
}

function matchesTemplate(template: string, uri: string): boolean {
  return matchesGlob(template.replaceAll(/\{[^{}]*\}/g, '*'), uri);
}

/** Whether a file, or its folder, belongs to the skill whose `SKILL.md` is at this URI. */
function isWithin(skill: string, uri: string): boolean {
  const root = skill.slice(0, skill.lastIndexOf('/'));
  return uri === root || uri.startsWith(`${root}/`);
}

function ambiguous(uri: string, owners: readonly string[]): FabricError {
  const named = owners.map((agentId) => toResourceUri(agentId, uri));
  return new FabricError('BAD_INPUT', 'Several agents have a resource with this URI', {
    details: { reason: 'ambiguous_uri', uris: named, fix: 'read one of details.uris' },
  });
}

/** The params with the name the agent knows. */
function toOwnNames(params: Params, name: string): Params {
  const { ref } = params;
  if (ref !== undefined) {
    const { type } = ref as Params;
    return {
      ...params,
      ref: type === 'ref/prompt' ? { ...(ref as Params), name } : { ...(ref as Params), uri: name },
    };
  }
  return 'uri' in params ? { ...params, uri: name } : { ...params, name };
}

function unknown(): FabricError {
  return new FabricError('BAD_INPUT', 'No agent has this resource or prompt', {
    details: { reason: 'unknown_name', fix: 'use a name from resources/list or prompts/list' },
  });
}
