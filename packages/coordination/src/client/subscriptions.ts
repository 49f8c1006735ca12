import { FabricError, type Log } from '@starloom/core';
import type { Send, Sends } from './link.ts';
import { rpcCodeOf } from './rpc-error.ts';
import { type SubscribeParams, Subscription, type SubscriptionHandlers } from './subscription.ts';

type Params = Readonly<Record<string, unknown>>;

/** Pushes that may come before the answer which tells whose they are. */
const EARLY_PUSHES = 1_000;

/** The subscriptions of a client, on whatever connection it has. */
export class Subscriptions {
  readonly #link: Sends;
  readonly #log: Log;
  readonly #all = new Set<Subscription>();
  readonly #early: { readonly method: string; readonly params: Params }[] = [];

  constructor(link: Sends, log: Log) {
    this.#link = link;
    this.#log = log;
  }

  async add(params: SubscribeParams, handlers: SubscriptionHandlers): Promise<Subscription> {
    const subscription = new Subscription(params, handlers, {
      link: this.#link,
      log: this.#log,
      onClose: () => this.#all.delete(subscription),
    });
    await subscription.start(this.#link.request);
    this.#all.add(subscription);
    this.#takeEarly();
    return subscription;
  }

  /** Begins all of them again on a new connection; one that the server refuses has ended. */
  async restart(send: Send): Promise<void> {
    this.#early.length = 0;
    for (const subscription of this.#all) subscription.lose();
    for (const subscription of this.#all) {
      try {
        await subscription.start(send);
      } catch (error) {
        if (rpcCodeOf(error) === undefined) throw error;
        subscription.end(FabricError.from(error));
      }
    }
    this.#takeEarly();
  }

  take(method: string, params: Params): void {
    const subscription = this.#find(params);
    if (subscription) {
      subscription.take(method, params);
      return;
    }
    this.#early.push({ method, params });
    if (this.#early.length > EARLY_PUSHES) this.#early.shift();
  }

  #takeEarly(): void {
    for (const { method, params } of this.#early.splice(0)) this.take(method, params);
  }

  #find({ subscription_id }: Params): Subscription | undefined {
    for (const subscription of this.#all)
      if (subscription.id === subscription_id) return subscription;
    return undefined;
  }
}
