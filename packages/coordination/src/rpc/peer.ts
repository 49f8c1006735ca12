// The state of a connection: which agents registered on it, what it receives.

import { FabricError, type JsonObject, type TrustTier } from '@starloom/core';
import type { AgentCapability, AgentRecord, ServedInstance } from '../agents/agent-record.ts';
import { type Caller, implicitAgentId, toHolder } from '../agents/caller.ts';
import { failure } from '../reasons.ts';
import type { Services } from '../services.ts';
import { membersAmong } from '../session/session-record.ts';
import { inBatches } from '../support/in-batches.ts';
import { requestOf } from './idempotency.ts';
import { PeerFeeds } from './peer-feeds.ts';

export interface Named {
  readonly agent_id?: string | undefined;
  readonly epoch?: number | undefined;
  readonly session_id?: string | undefined;
  readonly trace_id?: string | undefined;
  readonly idempotency_key?: string | undefined;
}

/** One error for all: thousands of clients may leave at once. */
const CLOSED = new FabricError('CANCELLED', 'The connection is closed');

export class Peer {
  readonly feeds: PeerFeeds;
  readonly #services: Services;
  readonly #connection: RpcConnection;
  readonly #gone = new AbortController();
  /** Agents of this connection with their epochs; the last one is the default caller. */
  readonly #epochs = new Map<string, number | undefined>();
  #speaker: string | undefined;

  constructor(services: Services, connection: RpcConnection) {
    this.#services = services;
    this.#connection = connection;
    this.feeds = new PeerFeeds(services, connection);
    const { agent } = connection;
    if (agent) this.#remember(agent.id, agent.epoch);
  }

  assertAuthorised(): void {
    const { principal } = this.#connection;
    if (this.#services.mayUse(principal)) return;
    throw failure('not_authorised', { principal: principal.id });
  }

  get principalId(): string {
    return this.#connection.principal.id;
  }

  get canPush(): boolean {
    return this.#connection.push !== undefined;
  }

  gatewayAgents(): readonly AgentRecord[] {
    return this.#connection.gateway?.list() ?? [];
  }

  /** Refused where no gateway is behind this connection. */
  get gateway(): GatewayDirectory {
    const { gateway } = this.#connection;
    if (gateway) return gateway;
    throw failure('bad_params/no_gateway');
  }

  /** Refuses an agent id of another principal, and a request that does not name its agent. */
  async callerOf(named: Named, params: JsonObject, needsAgent: boolean): Promise<Caller> {
    const { agent_id, epoch, trace_id, idempotency_key: key } = named;
    const { principalId } = this;
    const { agents, bindings } = this.#services;
    const implicit = needsAgent ? undefined : implicitAgentId(principalId);
    const agentId =
      agent_id ?? this.#speaker ?? implicit ?? (await this.#onlyAgent(named.session_id));
    if (agent_id !== undefined) await bindings.check(agentId, principalId);
    const caller = {
      agentId,
      principalId,
      epoch: epoch ?? this.#epochs.get(agentId),
      traceId: trace_id,
      idempotency: key === undefined ? undefined : { key, request: requestOf(params) },
      signal: this.#gone.signal,
      onAdmitted: (sessionId: string, holder: string) => this.feeds.attach(sessionId, holder),
      onRegistered: () => this.#remember(agentId, undefined),
    };
    if (this.#connection.livesByUse && needsAgent) await agents.noteUse(caller);
    return caller;
  }

  /**
   * Binds an agent to this connection: from now on it is the default caller, and its notices come
   * here.
   */
  async bind(agentId: string, epoch: number): Promise<void> {
    this.#remember(agentId, epoch);
    if (!this.canPush) return;
    const holder = toHolder(agentId, epoch);
    const sessionIds = await this.#services.sessionIndex.of(agentId);
    await inBatches(sessionIds, async (sessionId) => await this.feeds.attach(sessionId, holder));
  }

  unbind(agentId: string): void {
    this.#epochs.delete(agentId);
    if (this.#speaker === agentId) this.#speaker = [...this.#epochs.keys()].at(-1);
  }

  async close(): Promise<void> {
    this.#gone.abort(CLOSED);
    await this.feeds.close();
  }

  /** The only agent of the principal; of several the only one in the session, or that is alive. */
  async #onlyAgent(sessionId: string | undefined): Promise<string> {
    const { store, budgets, agents } = this.#services;
    const known = await budgets.agentsOf(this.principalId);
    const members =
      known.length > 1 && sessionId ? await membersAmong(store, sessionId, known) : [];
    const asked = members.length > 0 ? members : known;
    const alive = asked.length > 1 ? await agents.alive(asked) : [];
    const left = alive.length > 0 ? alive : asked;
    const [only, ...others] = left;
    if (only === undefined || others.length > 0) throw unnamedFailure(left);
    return only;
  }

  #remember(agentId: string, epoch: number | undefined): void {
    this.#epochs.delete(agentId);
    this.#epochs.set(agentId, epoch);
    this.#speaker = agentId;
  }
}

const SHOWN_AGENTS = 100;

function unnamedFailure(agents: readonly string[]) {
  const row = agents.length === 0 ? 'bad_params/no_agent' : 'bad_params/several_agents';
  return failure(row, { agents: agents.slice(0, SHOWN_AGENTS) });
}

export interface ConnectedPrincipal {
  readonly id: string;
  readonly scopes?: readonly string[] | undefined;
  readonly tier?: TrustTier | undefined;
}

/**
 * The one directory of agents, which the gateway keeps. What its methods throw is what the client gets.
 */
export interface GatewayDirectory {
  list(): readonly AgentRecord[];
  /** Makes an agent callable through the gateway for as long as it is renewed. */
  register(agent: CallableAgent, leaseMs: number): Promise<ServedInstance>;
  renew(agentId: string, instance: ServedInstance): Promise<void>;
  drain(agentId: string, instance: ServedInstance): Promise<void>;
  leave(agentId: string, instance: ServedInstance): Promise<void>;
}

export interface CallableAgent {
  readonly agent_id: string;
  readonly node_id?: string | undefined;
  readonly trust_tier?: TrustTier | undefined;
  readonly endpoint: JsonObject;
  readonly capabilities: readonly AgentCapability[];
}

export interface RpcConnection {
  readonly principal: ConnectedPrincipal;
  /** The agent that the transport knows to be on this connection. */
  readonly agent?: { readonly id: string; readonly epoch?: number | undefined } | undefined;
  /**
   * Sends a JSON-RPC notification, given as text since many may get the same. The next is not sent
   * before the promise settles. So a transport that resolves when it has room again slows down the
   * pushes to a slow client. A rejection ends the subscription. Absent where nothing can be pushed:
   * such clients read from a cursor.
   */
  readonly push?: ((notification: string) => Promise<void> | void) | undefined;
  /** Its requests are the heartbeats of an agent that was registered by joining a session. */
  readonly livesByUse?: boolean | undefined;
  /** The directory of the gateway, as the principal may see and change it. */
  readonly gateway?: GatewayDirectory | undefined;
  /** Called when the last subscription ended without being asked to: with its session, say. */
  readonly onSubscriptionsOver?: (() => void) | undefined;
}
