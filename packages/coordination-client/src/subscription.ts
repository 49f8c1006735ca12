// A subscription that outlives connections: it goes on after the last change it has delivered, and
// delivers each once and in order. What it cannot keep, because its handlers are too slow, it asks
// for again once they are done.

import { FabricError, type Json, type Log } from '@starloom/core';
import type { Send } from './link.ts';
import type { RunHandler } from './push-events.ts';
import { failure, NOT_FOUND } from './reasons.ts';
import { type Params, rpcCodeOf } from './requests.ts';
import type { MethodParams } from './services.ts';

export interface ContextSnapshot {
  readonly context: Readonly<Record<string, Json>>;
  readonly version: number;
  readonly cursor: number;
}

/** One is called at a time: the next waits for the promise of the one before. */
export interface SubscriptionHandlers {
  update(change: ContextChange): Promise<void> | void;
  /** Changes were missed for good: this is the context as it is, and what follows comes as updates. */
  snapshot?(snapshot: ContextSnapshot): Promise<void> | void;
  /** Something that was asked for by `types`. */
  event?(event: Readonly<Record<string, unknown>>): Promise<void> | void;
  /** It cannot go on: the session is over, or the agent is not in it any more. */
  ended?(reason: FabricError): Promise<void> | void;
}

export type SubscribeParams = MethodParams<'context_coordinator.subscribe'>;

export interface Push {
  readonly method: string;
  readonly params: Params;
}

interface SubscriptionDeps {
  readonly request: Send;
  readonly run: RunHandler;
  readonly log: Log;
  /** Pushes were dropped; all that were kept are delivered. */
  readonly onBehind: () => void;
  readonly onEnd: () => void;
  readonly onClose: () => Promise<void>;
}

const CONTEXT_UPDATE = 'context.update';
/** What waits for its handler; more would be kept at the server. */
export const MAX_WAITING = 10_000;
/** The session does not exist for the agent, or the agent may not do that, or no agent may. */
const FINAL: readonly (number | undefined)[] = [NOT_FOUND, -32001, -32602];

/** Would it be refused in the same way again? */
export function isFinal(error: unknown): boolean {
  return FINAL.includes(rpcCodeOf(error));
}

export class ClientSubscription {
  readonly #params: SubscribeParams;
  readonly #handlers: SubscriptionHandlers;
  readonly #deps: SubscriptionDeps;
  readonly #waiting: Push[] = [];
  #id: string | undefined;
  #cursor: number | undefined;
  #isDelivering = false;
  #isBehind = false;
  #isClosed = false;
  #ending: FabricError | undefined;
  /** Nothing is delivered before the caller has the subscription. */
  #handedOver: Promise<void> | undefined;

  constructor(params: SubscribeParams, handlers: SubscriptionHandlers, deps: SubscriptionDeps) {
    this.#params = params;
    this.#handlers = handlers;
    this.#deps = deps;
    this.#cursor = params.after;
  }

  get id(): string | undefined {
    return this.#id;
  }

  get isOver(): boolean {
    return this.#isClosed || this.#ending !== undefined;
  }

  /** Where another subscription could go on. */
  get cursor(): number {
    return this.#cursor ?? 0;
  }

  /** By which it begins after all that was delivered. */
  get request(): SubscribeParams {
    return { ...this.#params, ...(this.#cursor !== undefined && { after: this.#cursor }) };
  }

  onBegun(id: string, cursor: number): void {
    this.#id = id;
    this.#cursor ??= cursor;
    this.#isBehind = false;
    this.#handedOver ??= new Promise((resolve) => {
      setImmediate(resolve);
    });
  }

  /** Its name is not valid any more: the connection is lost, or the server ended the subscription. */
  lose(): void {
    this.#id = undefined;
  }

  take(push: Push): void {
    if (this.isOver || this.#isBehind) return;
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push(push);
    else this.#isBehind = true;
    void this.#deliverAll();
  }

  /** Takes no more until it is begun again, which is asked for once all is delivered. */
  fallBehind(): void {
    this.#isBehind = true;
    void this.#deliverAll();
  }

  /** Nothing more is delivered, and the caller gets no notice of the end. */
  stop(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
  }

  /** The server does not let it go on; the caller learns that after the events already taken. */
  end(reason: FabricError): void {
    this.#ending ??= reason;
    this.#deps.onEnd();
    void this.#deliverAll();
  }

  async close(): Promise<void> {
    this.stop();
    await this.#deps.onClose();
  }

  async #deliverAll(): Promise<void> {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    await this.#handedOver;
    for (let push = this.#waiting.shift(); push; push = this.#waiting.shift()) {
      await this.#deliver(push);
    }
    this.#isDelivering = false;
    if (this.#isClosed) return;
    if (this.#ending) await this.#tellEnd(this.#ending);
    else if (this.#isBehind) this.#deps.onBehind();
  }

  async #deliver({ method, params }: Push): Promise<void> {
    if (method === 'context_coordinator.subscription_ended') {
      const { session_id, reason } = params;
      const row = reason === 'session_ended' ? 'session_ended' : 'not_a_member';
      return this.#endHere(failure(row, { session_id }));
    }
    if (method === 'context_coordinator.snapshot_required') return await this.#snapshot();
    const cursor = Number(params.cursor);
    if (!(cursor > this.cursor)) return;
    this.#cursor = cursor;
    const { run } = this.#deps;
    if (method === 'context_coordinator.update') {
      await run('update', () => this.#handlers.update(params as unknown as ContextChange));
    } else await run('event', () => this.#handlers.event?.(params));
  }

  /** Delivers nothing that was taken later. */
  #endHere(reason: FabricError): void {
    this.#waiting.length = 0;
    this.end(reason);
  }

  async #tellEnd(reason: FabricError): Promise<void> {
    this.#isClosed = true;
    await this.#deps.run('ended', () => this.#handlers.ended?.(reason));
  }

  /** Nothing that came later is delivered before it, nor without it. */
  async #snapshot(): Promise<void> {
    const snapshot = await this.#getSnapshot();
    if (snapshot === undefined) this.#waiting.length = 0;
    if (snapshot === undefined || this.#isClosed) return;
    this.#cursor = Math.max(this.cursor, snapshot.cursor);
    await this.#deps.run('snapshot', () => this.#handlers.snapshot?.(snapshot));
  }

  async #getSnapshot(): Promise<ContextSnapshot | undefined> {
    do {
      try {
        return await this.#askForSnapshot();
      } catch (thrown) {
        const error = FabricError.from(thrown);
        if (isFinal(error)) this.end(error);
        else if (!this.isOver) await this.#waitFor(error);
      }
    } while (!this.isOver);
    return undefined;
  }

  async #waitFor(error: FabricError): Promise<void> {
    this.#deps.log.info({ error }, 'coordination: no snapshot yet, asks again');
    await pause(AGAIN_MS);
  }

  /** Of a context that is not followed nothing is asked but how far it is. */
  async #askForSnapshot(): Promise<ContextSnapshot> {
    const { session_id, keys = [''], types = [CONTEXT_UPDATE] } = this.#params;
    const answer = await this.#deps.request('context_coordinator.get', {
      session_id,
      ...(!types.includes(CONTEXT_UPDATE) && { keys: [] }),
    });
    const { context, version, cursor } = answer as ContextSnapshot;
    const isWanted = ([key]: [string, Json]) => keys.some((prefix) => key.startsWith(prefix));
    const wanted = Object.fromEntries(Object.entries(context).filter(isWanted));
    return { context: wanted, version, cursor };
  }
}

export interface ContextChange {
  readonly session_id: string;
  readonly agent_id: string;
  readonly op: string;
  /** New values by key; with the op `increment` the amounts that were added. */
  readonly update: Readonly<Record<string, Json>>;
  readonly removed?: readonly string[];
  readonly version: number;
  readonly cursor: number;
  readonly cause?: string;
  readonly trace_id?: string;
}

/** The context after a change; for a client that keeps a copy of it. */
export function applyUpdate(
  context: Readonly<Record<string, Json>>,
  { op, update, removed = [] }: Pick<ContextChange, 'op' | 'update' | 'removed'>,
): Record<string, Json> {
  const values = new Map(Object.entries(context));
  for (const [key, value] of Object.entries(update)) {
    const before = Number(values.get(key) ?? 0);
    values.set(key, op === 'increment' ? before + Number(value) : value);
  }
  for (const key of removed) values.delete(key);
  return Object.fromEntries(values);
}

/** Between tries of what may succeed before long. */
export const AGAIN_MS = 250;

/** Waits, without keeping the process alive for it. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
