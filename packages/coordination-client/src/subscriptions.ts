// The subscriptions of a client, on whatever connection it has. The server gives them new names on
// each connection: a push belongs to the one whose answer had that name, and none is taken for old
// because it came before the answer.

import { FabricError, type Log } from '@starloom/core';
import type { Send } from './link.ts';
import type { RunHandler } from './push-events.ts';
import { failure } from './reasons.ts';
import { rpcCodeOf } from './requests.ts';
import {
  AGAIN_MS,
  ClientSubscription,
  isFinal,
  MAX_WAITING,
  type Push,
  pause,
  type SubscribeParams,
  type SubscriptionHandlers,
} from './subscription.ts';

export interface SubscriptionsOptions {
  /** On whatever connection there is or will be. */
  readonly request: Send;
  readonly run: RunHandler;
  readonly log: Log;
}

interface Begun {
  readonly subscription_id: string;
  readonly cursor: number;
}

export class Subscriptions {
  readonly #options: SubscriptionsOptions;
  readonly #all = new Set<ClientSubscription>();
  readonly #named = new Map<string, ClientSubscription>();
  readonly #early = new EarlyPushes();
  readonly #unsubscribing = new Set<Promise<unknown>>();
  /** Sends on the connection there is. */
  #here: Send = () => Promise.reject(failure('connection_lost'));

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  async add(params: SubscribeParams, handlers: SubscriptionHandlers): Promise<ClientSubscription> {
    const { request, run, log } = this.#options;
    const subscription: ClientSubscription = new ClientSubscription(params, handlers, {
      request,
      run,
      log,
      onBehind: () => void this.#beginAgain(subscription),
      onEnd: () => this.#forget(subscription),
      onClose: () => this.#close(subscription),
    });
    await this.#begin(subscription, request);
    return subscription;
  }

  async restart(send: Send): Promise<void> {
    this.#here = send;
    this.#early.clear();
    this.#named.clear();
    for (const subscription of this.#all) subscription.lose();
    for (const subscription of this.#all) {
      try {
        await this.#begin(subscription, send);
      } catch (error) {
        if (rpcCodeOf(error) === undefined) throw error;
        void this.#retryOrEnd(subscription, error);
      }
    }
  }

  take(push: Push): void {
    const id = String(push.params.subscription_id);
    const subscription = this.#named.get(id);
    if (subscription) subscription.take(push);
    else this.#early.keep(id, push);
  }

  /** There will be no other connection; without a reason no subscriber receives an error. */
  close(reason?: FabricError): void {
    for (const subscription of [...this.#all]) {
      this.#forget(subscription);
      if (reason) subscription.end(reason);
      else subscription.stop();
    }
  }

  /** Not while a name is given up: it would not be clear whose it is. */
  async #begin(subscription: ClientSubscription, send: Send): Promise<void> {
    if (this.#unsubscribing.size > 0) await Promise.allSettled(this.#unsubscribing);
    await this.#early.keepDuring(async () => {
      const { request } = subscription;
      const begun = (await send('context_coordinator.subscribe', request)) as Begun;
      const { subscription_id: id, cursor } = begun;
      if (subscription.isOver) return await this.#unsubscribe(id, request.session_id);
      subscription.onBegun(id, cursor);
      this.#all.add(subscription);
      this.#named.set(id, subscription);
      const { pushes, isCut } = this.#early.take(id);
      for (const push of pushes) subscription.take(push);
      if (isCut) subscription.fallBehind();
    });
  }

  /** From its cursor, on this connection, until it succeeds; the next begins with it as well. */
  async #beginAgain(subscription: ClientSubscription): Promise<void> {
    const { id, request } = subscription;
    const here = this.#here;
    try {
      if (id !== undefined) await this.#unsubscribe(id, request.session_id);
      if (this.#isStill(subscription, here)) await this.#begin(subscription, here);
    } catch (error) {
      if (this.#isStill(subscription, here)) await this.#retryOrEnd(subscription, error);
    }
  }

  /** What may pass is tried again; the rest is the end. */
  async #retryOrEnd(subscription: ClientSubscription, thrown: unknown): Promise<void> {
    const error = FabricError.from(thrown);
    if (isFinal(error)) return subscription.end(error);
    this.#options.log.info({ error }, 'coordination: not subscribed, tries again');
    const here = this.#here;
    await pause(AGAIN_MS);
    if (this.#isStill(subscription, here)) await this.#beginAgain(subscription);
  }

  #isStill(subscription: ClientSubscription, here: Send): boolean {
    return this.#all.has(subscription) && this.#here === here;
  }

  async #close(subscription: ClientSubscription): Promise<void> {
    const { id, request } = subscription;
    this.#all.delete(subscription);
    if (id !== undefined) await this.#unsubscribe(id, request.session_id);
  }

  /**
   * Pushes that still come under the name belong to no other subscription: it is free once the
   * server says so.
   */
  async #unsubscribe(subscription_id: string, session_id: string): Promise<void> {
    const subscription = this.#named.get(subscription_id);
    const here = this.#here;
    const answer = here('context_coordinator.unsubscribe', { session_id, subscription_id });
    this.#unsubscribing.add(answer);
    try {
      await answer;
    } catch (error) {
      if (FabricError.from(error).code !== 'AGENT_OFFLINE') throw error;
    } finally {
      this.#unsubscribing.delete(answer);
      if (here === this.#here && subscription) this.#forgetName(subscription);
    }
  }

  #forget(subscription: ClientSubscription): void {
    this.#all.delete(subscription);
    this.#forgetName(subscription);
  }

  #forgetName(subscription: ClientSubscription): void {
    const { id } = subscription;
    if (id !== undefined && this.#named.get(id) === subscription) this.#named.delete(id);
    subscription.lose();
  }
}

interface Kept {
  readonly pushes: Push[];
  /** There were more. */
  isCut: boolean;
}

/**
 * Pushes that come before the answer that names their subscription. They are kept only while such an
 * answer is awaited, and no more of each name than a subscription would keep.
 */
class EarlyPushes {
  readonly #kept = new Map<string, Kept>();
  #awaited = 0;

  async keepDuring<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#awaited += 1;
    try {
      return await work();
    } finally {
      this.#awaited -= 1;
      if (this.#awaited === 0) this.#kept.clear();
    }
  }

  keep(id: string, push: Push): void {
    if (this.#awaited === 0) return;
    const kept = this.#kept.get(id) ?? { pushes: [], isCut: false };
    this.#kept.set(id, kept);
    if (kept.pushes.length < MAX_WAITING) kept.pushes.push(push);
    else kept.isCut = true;
  }

  take(id: string): Readonly<Kept> {
    const kept = this.#kept.get(id) ?? { pushes: [], isCut: false };
    this.#kept.delete(id);
    return kept;
  }

  clear(): void {
    this.#kept.clear();
  }
}
