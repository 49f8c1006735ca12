// A subscription that outlives connections: it goes on after the last change it has delivered, and
// delivers each once and in order.

import type { Json, Log } from '@starloom/core';
import { FabricError } from '@starloom/core';
import type { ContextChange } from './apply-update.ts';
import type { Send, Sends } from './link.ts';
import type { MethodParams } from './services.ts';

export interface ContextSnapshot {
  readonly context: Readonly<Record<string, Json>>;
  readonly version: number;
  readonly cursor: number;
}

export interface SubscriptionHandlers {
  update(change: ContextChange): void;
  /** Changes were missed for good: this is the context as it is, and what follows comes as updates. */
  snapshot?(snapshot: ContextSnapshot): void;
  /** Something that was asked for by `types`. */
  event?(event: Readonly<Record<string, unknown>>): void;
  /** It cannot go on: the session is over, or the agent is not in it any more. */
  ended?(reason: FabricError): void;
}

export type SubscribeParams = MethodParams<'context_coordinator.subscribe'>;
type Push = Readonly<Record<string, unknown>>;

const CONTEXT_UPDATE = 'context.update';
const NOT_FOUND = -32004;

export class Subscription {
  readonly #params: SubscribeParams;
  readonly #handlers: SubscriptionHandlers;
  readonly #link: Sends;
  readonly #log: Log;
  #id: string | undefined;
  #cursor: number | undefined;
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;
  #onClose: () => void;

  constructor(
    params: SubscribeParams,
    handlers: SubscriptionHandlers,
    deps: { readonly link: Sends; readonly log: Log; readonly onClose: () => void },
  ) {
    this.#params = params;
    this.#handlers = handlers;
    this.#cursor = params.after;
    this.#link = deps.link;
    this.#log = deps.log;
    this.#onClose = deps.onClose;
  }

  get id(): string | undefined {
    return this.#id;
  }

  /** Where another subscription could go on. */
  get cursor(): number {
    return this.#cursor ?? 0;
  }

  /** Begins on a connection, after all that was delivered before. */
  async start(send: Send): Promise<void> {
    const after = this.#cursor;
    const result = (await send('context_coordinator.subscribe', {
      ...this.#params,
      ...(after !== undefined && { after }),
    })) as { subscription_id: string; cursor: number };
    this.#id = result.subscription_id;
    this.#cursor ??= result.cursor;
  }

  /** Its connection is gone, and with it the name it had there. */
  lose(): void {
    this.#id = undefined;
    if (this.#isClosed) this.#onClose();
  }

  /** What the server pushed for this subscription. */
  take(method: string, params: Push): void {
    this.#then(() => this.#deliver(method, params));
  }

  /** The server does not let it go on. */
  end(reason: FabricError): void {
    this.#id = undefined;
    this.#onClose();
    this.#then(() => {
      if (!this.#isClosed) this.#handlers.ended?.(reason);
      this.#isClosed = true;
    });
  }

  /** What still comes for it is for nobody else: its id is free once the server says so. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const { session_id } = this.#params;
    const named = { session_id, subscription_id: this.#id };
    try {
      if (this.#id) await this.#link.requestHere('context_coordinator.unsubscribe', named);
    } catch (error) {
      if (FabricError.from(error).code !== 'AGENT_OFFLINE') throw error;
    } finally {
      this.#onClose();
    }
  }

  #then(step: () => Promise<void> | void): void {
    this.#turn = this.#turn.then(step).catch((error: unknown) => {
      this.#log.error({ error: FabricError.from(error) }, 'coordination: a subscriber failed');
    });
  }

  async #deliver(method: string, params: Push): Promise<void> {
    if (this.#isClosed) return;
    if (method === 'context_coordinator.subscription_ended')
      return this.end(subscriptionEnded(params));
    if (method === 'context_coordinator.snapshot_required') return await this.#snapshot();
    const cursor = Number(params.cursor);
    if (cursor <= this.cursor) return;
    this.#cursor = cursor;
    if (method === 'context_coordinator.update') this.#handlers.update(toChange(params));
    else this.#handlers.event?.(params);
  }

  /** Of a context that is not followed nothing is asked but how far it is. */
  async #snapshot(): Promise<void> {
    const { session_id, keys = [''], types = [CONTEXT_UPDATE] } = this.#params;
    const answer = await this.#link.request('context_coordinator.get', {
      session_id,
      ...(!types.includes(CONTEXT_UPDATE) && { keys: [] }),
    });
    const { context, version, cursor } = answer as ContextSnapshot;
    const isWanted = ([key]: [string, Json]) => keys.some((prefix) => key.startsWith(prefix));
    this.#cursor = Math.max(this.cursor, cursor);
    this.#handlers.snapshot?.({
      context: Object.fromEntries(Object.entries(context).filter(isWanted)),
      version,
      cursor,
    });
  }
}

function toChange(params: Push): ContextChange {
  return params as unknown as ContextChange;
}

function subscriptionEnded({ session_id, reason }: Push): FabricError {
  const why =
    reason === 'session_ended' ? 'The session has ended' : 'The agent is not in the session';
  return new FabricError('CAPABILITY_NOT_FOUND', `${why}: nothing more comes of it`, {
    details: { rpc: NOT_FOUND, reason, session_id, fix: 'join it again, or another' },
  });
}
