// An agent's side of coordination. It stays connected, keeps beating, goes on with its subscriptions
// where they were, and says what it lost when that cannot be helped.

import { EventEmitter } from 'node:events';
import { FabricError, type Log, silentLog } from '@starloom/core';
import { type CachedCall, cached } from './cached.ts';
import { Leases } from './leases.ts';
import { Link, type Send } from './link.ts';
import { type ClientEvents, toClientEvent } from './push-events.ts';
import { rpcCodeOf } from './rpc-error.ts';
import {
  type Call,
  createService,
  type LockService,
  type MethodParams,
  type MethodResult,
} from './services.ts';
import type { SubscribeParams, Subscription, SubscriptionHandlers } from './subscription.ts';
import { Subscriptions } from './subscriptions.ts';
import type { Connect } from './transport.ts';
import { Turns } from './turns.ts';
import { type LockedWork, type LockParams, withLock } from './with-lock.ts';

type Register = MethodParams<'agent_registry.register'>;

export interface CoordinationClientOptions {
  readonly connect: Connect;
  readonly agentId: string;
  readonly capabilities?: Register['capabilities'] | undefined;
  readonly name?: string | undefined;
  readonly metadata?: Register['metadata'];
  readonly log?: Log | undefined;
  /** How long a request may take, besides what it waits on purpose. */
  readonly requestMs?: number | undefined;
  readonly backoffMs?: { readonly least: number; readonly most: number } | undefined;
}

const REQUEST_MS = 30_000;
const BACKOFF_MS = { least: 100, most: 10_000 };
/** Beats come earlier than asked for, so that a slow one is not too late. */
const BEAT_SHARE = 0.7;
/** The life is over, or the server has forgotten it. */
const LIFE_IS_OVER = [-32015, -32004];

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
  readonly #link: Link;
  readonly #leases: Leases;
  readonly #subscriptions: Subscriptions;
  readonly #turns = new Turns();
  #epoch: number | undefined;
  #beatTimer: NodeJS.Timeout | undefined;
  #isBeating = false;
  #connections = 0;

  constructor(options: CoordinationClientOptions) {
    super();
    this.setMaxListeners(0);
    const { connect, requestMs = REQUEST_MS, backoffMs = BACKOFF_MS } = options;
    this.#options = options;
    this.#log = options.log ?? silentLog;
    this.#link = new Link({
      connect,
      requestMs,
      backoffMs,
      log: this.#log,
      onOpen: (direct) => this.#onOpen(direct),
      onPush: (method, params) => this.#onPush(method, params),
      onLost: () => this.emit('disconnected'),
      onClosed: (reason) => {
        clearInterval(this.#beatTimer);
        this.#leases.loseAll('closed');
        this.emit('closed', reason);
      },
    });
    this.#leases = new Leases({
      agentId: options.agentId,
      log: this.#log,
      tell: (lost) => this.emit('lease_lost', lost),
    });
    this.#subscriptions = new Subscriptions(this.#link, this.#log);
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

  /** The life that the agent is in. */
  get epoch(): number {
    return this.#epoch ?? 0;
  }

  async start(): Promise<void> {
    await this.#link.open();
  }

  /** Updates of a session from now on, or from `after`, whatever happens to the connection. */
  async subscribe(params: SubscribeParams, handlers: SubscriptionHandlers): Promise<Subscription> {
    return await this.#subscriptions.add(params, handlers);
  }

  /**
   * Does the work under a lock, which is renewed meanwhile and released afterwards. When the lock is
   * lost, the work's signal aborts, and this rejects with -32015 once the work has ended. To the
   * others an agent is one: its own works take turns here, since the server would refuse them as a
   * deadlock.
   */
  withLock<Result>(params: LockParams, work: LockedWork<Result>): Promise<Result> {
    const name = `${params.session_id}\n${params.resource ?? 'context'}`;
    return this.#turns.take(name, () => withLock({ client: this, log: this.#log }, params, work));
  }

  /** A cached result, or the computed one, which then is cached; of many at once one computes. */
  async cached<Result>(call: CachedCall<Result>): Promise<Result> {
    return await cached({ cache: this.cache, log: this.#log }, call);
  }

  /** Ends the life of the agent, then the connection. */
  async unregister(): Promise<void> {
    clearInterval(this.#beatTimer);
    await this.agents.unregister({ agent_id: this.agentId });
    await this.close();
  }

  async close(): Promise<void> {
    this.#link.close();
  }

  async #call(method: string, params: Readonly<Record<string, unknown>>): Promise<unknown> {
    const [askedAt, connection] = [performance.now(), this.#connections];
    this.#leases.asked(method, params);
    try {
      const result = await this.#link.request(method, params);
      this.#leases.answered(method, params, result, askedAt);
      if (connection !== this.#connections) this.#renewOld(method, params, result);
      return result;
    } catch (error) {
      this.#leases.refused(method, params, error);
      throw error;
    }
  }

  /** The answer is of an earlier connection: so may be the lock, and much of its time be over. */
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
    const isSameLife = this.#epoch !== undefined && (await this.#goOn(direct));
    if (!isSameLife) await this.#register(direct);
    await this.#subscriptions.restart(direct);
    await this.#leases.confirm(direct);
    this.#connections += 1;
    if (this.#connections > 1) this.emit('reconnected');
  }

  /** Goes on in the same life; false when it is over. */
  async #goOn(send: Send): Promise<boolean> {
    try {
      const { agentId: agent_id } = this;
      await send('agent_registry.heartbeat', { agent_id, epoch: this.#epoch });
      return true;
    } catch (error) {
      if (LIFE_IS_OVER.includes(rpcCodeOf(error) ?? 0)) return false;
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
    this.#beatEvery(registered.heartbeat_interval_ms * BEAT_SHARE);
    if (isFirst) return;
    this.emit('new_life', { epoch: registered.epoch });
    this.#leases.loseAll('new_life');
  }

  #beatEvery(ms: number): void {
    clearInterval(this.#beatTimer);
    this.#beatTimer = setInterval(() => void this.#beat(), ms).unref();
  }

  async #beat(): Promise<void> {
    if (this.#isBeating || !this.#link.isReady) return;
    this.#isBeating = true;
    try {
      if (!(await this.#goOn(this.#link.request))) await this.#register(this.#link.request);
    } catch (thrown) {
      const error = FabricError.from(thrown);
      this.#log.info({ error }, 'coordination: a beat failed');
      if (error.code === 'TIMEOUT') this.#link.reconnect();
    } finally {
      this.#isBeating = false;
    }
  }

  #onPush(method: string, params: Readonly<Record<string, unknown>>): void {
    if (params.subscription_id !== undefined) {
      this.#subscriptions.take(method, params);
      return;
    }
    const event = toClientEvent(method, params);
    if (event === undefined) return;
    if (event.name === 'lease_lost') {
      this.#leases.lost(event.data);
      return;
    }
    if (event.name === 'lease_granted') this.#leases.granted(event.data);
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
