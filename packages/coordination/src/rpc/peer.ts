// The state of a connection: which agents registered on it, what it receives.

import type { JsonObject } from '@starloom/core';
import { FabricError } from '@starloom/core';
import type { AgentRecord } from '../agents/agent-record.ts';
import { type Caller, implicitAgentId, toHolder } from '../agents/caller.ts';
import { refuse } from '../errors.ts';
import type { Services } from '../services.ts';
import { membersAmong } from '../session/session-record.ts';
import { inBatches } from '../support/in-batches.ts';
import type { RpcConnection } from './connection.ts';
import { requestOf } from './idempotency.ts';
import { PeerFeeds } from './peer-feeds.ts';

export interface Named {
  /** Whom the request says it comes from. */
  readonly agent_id?: string | undefined;
  readonly epoch?: number | undefined;
  readonly session_id?: string | undefined;
  readonly trace_id?: string | undefined;
  readonly idempotency_key?: string | undefined;
}

/** One for all: thousands of clients may leave at once. */
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
    const { store, access, feeds, limits, budgets } = services;
    this.#services = services;
    this.#connection = connection;
    this.feeds = new PeerFeeds({
      principalId: connection.principal.id,
      store,
      access,
      feeds,
      limits,
      budgets,
      connection,
    });
    const { agent } = connection;
    if (agent) this.#remember(agent.id, agent.epoch);
  }

  /** Refuses a principal that may not use coordination at all. */
  assertAuthorised(): void {
    const { principal } = this.#connection;
    if (this.#services.mayUse(principal)) return;
    throw refuse('not_authorised', `"${principal.id}" may not use coordination`, {
      scope: 'toolset:coordination',
      fix: 'use a key with the scope toolset:coordination',
    });
  }

  get principalId(): string {
    return this.#connection.principal.id;
  }

  get canPush(): boolean {
    return this.#connection.push !== undefined;
  }

  gatewayAgents(): readonly AgentRecord[] {
    return this.#connection.gatewayAgents?.() ?? [];
  }

  /** Refuses an agent id of another principal, and a request of which nothing says who asks. */
  async callerOf(named: Named, params: JsonObject, needsAgent: boolean): Promise<Caller> {
    const { agent_id, epoch, trace_id, idempotency_key: key } = named;
    const { principalId } = this;
    const { agents, bindings } = this.#services;
    const nobody = needsAgent ? undefined : implicitAgentId(principalId);
    const agentId =
      agent_id ?? this.#speaker ?? nobody ?? (await this.#onlyAgent(named.session_id));
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
    const sessionIds = await this.#services.sessions.of(agentId);
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
    if (only === undefined || others.length > 0) throw unnamed(left);
    return only;
  }

  #remember(agentId: string, epoch: number | undefined): void {
    this.#epochs.delete(agentId);
    this.#epochs.set(agentId, epoch);
    this.#speaker = agentId;
  }
}

const SHOWN_AGENTS = 100;

function unnamed(agents: readonly string[]) {
  const why = agents.length === 0 ? 'your principal has registered none' : 'several may be meant';
  return refuse('bad_params', `The request does not say which agent asks, and ${why}`, {
    agents: agents.slice(0, SHOWN_AGENTS),
    fix: 'send agent_id; to create or join a session with it registers that agent',
  });
}
