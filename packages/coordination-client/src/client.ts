// An agent's side of coordination. It stays connected, sends heartbeats, continues its subscriptions
// where they were, and reports what it lost when that cannot be avoided.

import { EventEmitter } from 'node:events';
import { FabricError, type Log, silentLog, toFields } from '@starloom/core';
import { type CachedCall, cached } from './cached.ts';
import { Heartbeat } from './heartbeat.ts';
import { KnownSessions } from './known-sessions.ts';
import { Leases } from './leases.ts';
import { type Connect, Link, type Send } from './link.ts';
import {
  type ClientEvents,
  createRunHandler,
  type RunHandler,
  toClientEvent,
} from './push-events.ts';
import { rpcCodeOf } from './requests.ts';
import {
  type Call,
  createService,
  type LockService,
  type MethodParams,
  type MethodResult,
} from './services.ts';
import type { ClientSubscription, SubscribeParams, SubscriptionHandlers } from './subscription.ts';
import { Subscriptions } from './subscriptions.ts';
import {
  type LockedWork,
  type LockHolder,
  type LockParams,
  WorkScope,
  WorkTurns,
  withLock,
} from './with-lock.ts';

type Register = MethodParams<'agent_registry.register'>;

export interface CoordinationClientOptions {
  readonly connect: Connect;
  readonly agentId: string;
  readonly capabilities?: Register['capabilities'] | undefined;
  readonly name?: string | undefined;
  readonly metadata?: Register['metadata'];
  /** Also receives what handlers throw; without a log that becomes a warning of the process. */
  readonly log?: Log | undefined;
  /** How long a request may take, besides what it waits on purpose. */
  readonly requestMs?: number | undefined;
  readonly backoffMs?: { readonly least: number; readonly most: number } | undefined;
}

const REQUEST_MS = 30_000;
const BACKOFF_MS = { least: 100, most: 10_000 };
/** The registration has ended, or the server has forgotten it. */
const REGISTRATION_ENDED = [-32015, -32004];

/** Connects and registers; rejects when that fails. What is lost later is regained by itself. */
export async function openCoordinationClient(
  options: CoordinationClientOptions,
): Promise<CoordinationClient> {
  const client = new CoordinationClient(options);
  try {
    await client.start();
    return client;
  } catch (error) {
    await client.close();
    throw error;
  }
}

export class CoordinationClient extends EventEmitter<ClientEvents> {
  readonly call: Call;
  readonly agents;
  readonly sessions;
  readonly context;
  readonly locks: LockService;
  readonly cache;
  readonly buffer;
  readonly #options: CoordinationClientOptions;
  readonly #log: Log;
  readonly #run: RunHandler;
  readonly #link: Link;
  readonly #leases: Leases;
  readonly #subscriptions: Subscriptions;
  readonly #knownSessions: KnownSessions;
  readonly #lockHolder: LockHolder;
  readonly #heartbeat: Heartbeat;
  #epoch: number | undefined;
  #connections = 0;

  constructor(options: CoordinationClientOptions) {
    super();
    this.setMaxListeners(0);
    const { connect, requestMs = REQUEST_MS, backoffMs = BACKOFF_MS } = options;
    this.#options = options;
    this.#log = options.log ?? silentLog;
    this.#run = createRunHandler(options.log);
    this.#knownSessions = new KnownSessions(options.agentId, this.#log);
    this.#link = new Link({
      connect,
      requestMs,
      backoffMs,
      log: this.#log,
      onOpen: (direct) => this.#onOpen(direct),
      openingMs: () => this.#heartbeat.answerMs,
      onHeard: () => this.#heartbeat.onHeard(),
      onPush: (method, params) => this.#onPush(method, params),
      onLost: () => this.emit('disconnected'),
      onClosed: (reason) => this.#onClosed(reason),
    });
    this.#heartbeat = new Heartbeat({
      beat: () => this.#beat(),
      onSilence: () => this.#link.reconnect(),
      requestMs,
    });
    this.#leases = new Leases({
      agentId: options.agentId,
      log: this.#log,
      send: this.#link.request,
      onLost: (lost) => this.emit('lease_lost', lost),
      onGranted: (granted) => this.emit('lease_granted', granted),
      onTicketGone: (ticket) => this.emit('ticket_gone', ticket),
    });
    this.#lockHolder = {
      client: this,
      known: this.#leases.known,
      turns: new WorkTurns(),
      scope: new WorkScope(),
      log: this.#log,
    };
    const { request } = this.#link;
    this.#subscriptions = new Subscriptions({ request, run: this.#run, log: this.#log });
    this.call = ((method, params) => this.#call(method, params)) as Call;
    this.agents = createService('agent_registry', this.call);
    this.sessions = createService('session_manager', this.call);
    this.context = createService('context_coordinator', this.call);
    this.locks = createService('memory_locker', this.call) as LockService;
    this.cache = createService('tool_cache', this.call);
    this.buffer = createService('shared_buffer', this.call);
  }

  get agentId(): string {
    return this.#options.agentId;
  }

  get epoch(): number {
    return this.#epoch ?? 0;
  }

  async start(): Promise<void> {
    await this.#link.open();
  }

  /** Updates of a session from now on, or from `after`, whatever happens to the connection. */
  async subscribe(
    params: SubscribeParams,
    handlers: SubscriptionHandlers,
  ): Promise<ClientSubscription> {
    return await this.#subscriptions.add(params, handlers);
  }

  /**
   * Does the work under a lock, which is renewed meanwhile and released afterwards. When the lock is
   * lost, the work's signal aborts, and this rejects with -32015 once the work has ended. Works of
   * one client exclude each other as those of several do; one inside another of the same lock is
   * refused.
   */
  async withLock<Result>(params: LockParams, work: LockedWork<Result>): Promise<Result> {
    return await withLock(this.#lockHolder, params, work);
  }

  /** A cached result, or the computed one, which then is cached; of many at once one computes. */
  async cached<Result>(call: CachedCall<Result>): Promise<Result> {
    return await cached({ cache: this.cache, log: this.#log }, call);
  }

  async unregister(): Promise<void> {
    this.#heartbeat.stop();
    try {
      await this.agents.unregister({ agent_id: this.agentId });
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    this.#link.close();
  }

  /** Calls every handler, whatever others throw. */
  override emit<Name extends keyof ClientEvents>(name: Name, ...args: ClientEvents[Name]): boolean {
    const handlers = this.rawListeners(name);
    for (const handler of handlers) {
      void this.#run(name, () => Reflect.apply(handler, this, args));
    }
    return handlers.length > 0;
  }

  async #call(method: string, params: Readonly<Record<string, unknown>>): Promise<unknown> {
    const [askedAt, connection] = [performance.now(), this.#connections];
    this.#leases.onAsked(method, params);
    try {
      const result = await this.#link.request(method, params, this.#leases.onLate(method, params));
      this.#leases.onAnswered(method, params, result, askedAt);
      this.#knownSessions.onAnswered(method, params, toFields(result));
      if (connection !== this.#connections) this.#renewOld(method, params, result);
      return result;
    } catch (error) {
      this.#leases.onRefused(method, params, error);
      throw error;
    }
  }

  /** The answer belongs to an earlier connection: much of the time of the lock may be over. */
  #renewOld(method: string, params: Readonly<Record<string, unknown>>, result: unknown): void {
    if (method !== 'memory_locker.acquire') return;
    const acquired = result as MethodResult<'memory_locker.acquire'>;
    if (!('lock_token' in acquired)) return;
    const { session_id, resource, ttl_ms, agent_id } = params as MethodParams<typeof method>;
    const { lock_token } = acquired;
    this.locks
      .renew({ session_id, resource, ttl_ms, agent_id, lock_token })
      .catch((thrown: unknown) => {
        const error = FabricError.from(thrown);
        this.#log.info({ error, session_id, lock_token }, 'coordination: a lock was not renewed');
      });
  }

  async #onOpen(direct: Send): Promise<void> {
    const isSameRegistration = this.#epoch !== undefined && (await this.#goOn(direct));
    if (!isSameRegistration) await this.#register(direct);
    await this.#subscriptions.restart(direct);
    await this.#leases.confirm(direct);
    const missed = await this.#missedNotices(direct);
    this.#connections += 1;
    if (this.#connections > 1) this.emit('reconnected');
    for (const session_id of missed) this.emit('notices_missed', { session_id });
  }

  /**
   * The server keeps no notices for an absent client: this names sessions that may have had some.
   */
  async #missedNotices(direct: Send): Promise<readonly string[]> {
    if (this.#connections === 0 || this.listenerCount('notices_missed') === 0) return [];
    return await this.#knownSessions.list(direct);
  }

  #onClosed(reason: FabricError): void {
    this.#heartbeat.stop();
    this.#lockHolder.turns.close(reason);
    this.#subscriptions.close(reason.code === 'CANCELLED' ? undefined : reason);
    this.#leases.loseAll('closed');
    this.emit('closed', reason);
  }

  async #goOn(send: Send): Promise<boolean> {
    try {
      const { agentId: agent_id } = this;
      await send('agent_registry.heartbeat', { agent_id, epoch: this.#epoch });
      return true;
    } catch (error) {
      if (REGISTRATION_ENDED.includes(rpcCodeOf(error) ?? 0)) return false;
      throw error;
    }
  }

  async #register(send: Send): Promise<void> {
    const { capabilities = [], name, metadata } = this.#options;
    const { agentId: agent_id } = this;
    const isFirst = this.#epoch === undefined;
    const registered = (await send('agent_registry.register', {
      agent_id,
      capabilities,
      ...(name !== undefined && { name }),
      ...(metadata !== undefined && { metadata }),
    })) as { epoch: number; heartbeat_interval_ms: number };
    this.#epoch = registered.epoch;
    this.#heartbeat.every(registered.heartbeat_interval_ms);
    if (isFirst) return;
    this.#leases.loseAll('registered_again');
    this.emit('registered_again', { epoch: registered.epoch });
  }

  async #beat(): Promise<void> {
    const { isReady, requestHere } = this.#link;
    if (!isReady) return;
    try {
      if (!(await this.#goOn(requestHere))) await this.#register(requestHere);
    } catch (thrown) {
      const error = FabricError.from(thrown);
      this.#log.info({ error }, 'coordination: a heartbeat failed');
    }
  }

  #onPush(method: string, params: Readonly<Record<string, unknown>>): void {
    if (params.subscription_id !== undefined) {
      this.#subscriptions.take({ method, params });
      return;
    }
    this.#knownSessions.onPushed(method, params);
    const event = toClientEvent(method, params);
    if (event === undefined) return;
    if (event.name === 'lease_lost') {
      this.#leases.onLost(event.data);
      return;
    }
    if (event.name === 'lease_granted') this.#leases.onGranted(event.data);
    if (event.name === 'notices_missed') this.#confirm(event.data.session_id);
    this.emit(event.name, event.data as never);
  }

  /** On this connection; the next begins with the same. */
  #confirm(sessionId: string): void {
    this.#leases.confirm(this.#link.requestHere, sessionId).catch((thrown: unknown) => {
      const error = FabricError.from(thrown);
      this.#log.info({ error, sessionId }, 'coordination: locks were not confirmed');
    });
  }
}
