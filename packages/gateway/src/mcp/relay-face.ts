// Resources, prompts, completion and skills: those of the agents that speak MCP, passed through, and the
// gateway's own, the contexts of sessions. Lists are put together from all of them, and an agent
// that does not answer hides only what is its own.

import type { Server, ServerCapabilities, ServerContext } from '@modelcontextprotocol/server';
import { isMcpRelay, type McpRelay } from '@starloom/adapters';
import { FabricError, type Manifest, matchesGlob } from '@starloom/core';
import { onBehalfOf, type Principal } from '@starloom/identity';
import { deadlineSignal } from '@starloom/wire';
import { z } from 'zod';
import type { CallDeps } from '../pipeline/call.ts';
import { deniedBy } from '../pipeline/no-route.ts';
import { failure } from '../reasons.ts';
import { AgentFeed } from './agent-feed.ts';
import { cleanListing, usableSkills } from './clean-listing.ts';
import { type RelayRequest, toAgentMeta, toRelayRequest } from './client-side.ts';
import {
  answering,
  type Connection,
  type Credentials,
  identified,
  identifiedConnection,
} from './connection.ts';
import { installSubscriptions, type MayFollow } from './listen-gate.ts';
import {
  type Listing,
  type Named,
  RelayedNames,
  toOwnNames,
  toResourceUri,
  uiResourceOf,
} from './names.ts';
import type { SessionResources } from './session-resources.ts';
import {
  type FollowedResources,
  SessionUpdates,
  type SessionUpdatesOptions,
} from './session-updates.ts';

type Params = Record<string, unknown>;

type RelayDeps = Pick<
  CallDeps,
  'registry' | 'authoriser' | 'guard' | 'clock' | 'adapters' | 'log' | 'unprefixed'
>;

interface RelayFaceOptions extends RelayDeps {
  readonly expose: 'all' | readonly string[];
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
      toRelayRequest(
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
    if (owners.length > 1) {
      const uris = owners.map((owner) => toResourceUri(owner, uri));
      throw failure('ambiguous_uri', { uris });
    }
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
    if (!named || !manifest) throw failure('unknown_name');
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
        // Rules may have hidden the agent meanwhile.
        const updated = () => isOfAgent(uri) && watcher.updated();
        return named && (await this.#feedOf(named.agentId).follow(named.name, updated));
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
        if (!manifest) throw failure('unknown_name');
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
    if (!isMcpRelay(lease.adapter)) throw failure('unknown_name');
    return await use(lease.adapter);
  }

  #isExposed(agentId: string): boolean {
    const { expose } = this.#options;
    return expose === 'all' || expose.includes(agentId);
  }
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
