// The two sides of one stream: what came and is not read yet, and what may still be sent.

import { type FabricError, type Fields, orAborted } from '@starloom/core';
import { failure } from '../reasons.ts';
import { fromLinkError, type OpenerFrame, type ServerFrame, toLinkError } from './frames.ts';

export interface OpenOptions {
  readonly signal: AbortSignal;
  /** Answers what the other side asks within the stream; `signal` aborts when it takes that back. */
  readonly onAsk?: (method: string, params: Fields, signal: AbortSignal) => Promise<unknown>;
}

/** Characters of items that may be sent on a stream before the reader takes them. */
export const MAX_UNREAD_LENGTH = 256 * 1024;
const MAX_ASKS = 16;

interface Outcome {
  readonly value?: unknown;
  readonly error?: FabricError;
}

/** A stream that this side opened: what came and is not read yet. */
export class OpenedStream {
  readonly items: { readonly value: unknown; readonly length: number }[] = [];
  outcome: Outcome | undefined;
  readonly #onAsk: OpenOptions['onAsk'];
  readonly #asks = new Map<number, AbortController>();
  /** Characters that the other side may still send. */
  #room = MAX_UNREAD_LENGTH;
  #read = 0;
  #more: PromiseWithResolvers<void> | undefined;

  constructor(onAsk: OpenOptions['onAsk']) {
    this.#onAsk = onAsk;
  }

  add(value: unknown, length: number) {
    if (this.outcome) return;
    if (this.#room <= 0) return this.end({ error: failure('link_window', { sent: true }) });
    this.#room -= length;
    this.items.push({ value, length });
    this.#wake();
  }

  /** How much room to give back, if any: not for every item. */
  read(length: number): number {
    this.#read += length;
    if (this.#read < MAX_UNREAD_LENGTH / 2) return 0;
    const room = this.#read;
    this.#read = 0;
    this.#room += room;
    return room;
  }

  more(): Promise<void> {
    this.#more ??= Promise.withResolvers();
    return this.#more.promise;
  }

  end(outcome: Outcome): void {
    this.outcome ??= outcome;
    this.#wake();
  }

  ask(
    { id, ask, method, params }: Extract<ServerFrame, { type: 'ask' }>,
    send: (answer: OpenerFrame) => void,
  ) {
    const onAsk = this.#onAsk;
    if (!onAsk || this.#asks.size >= MAX_ASKS || this.#asks.has(ask)) {
      const error = toLinkError(failure('link_asks', { limit: MAX_ASKS }));
      return send({ type: 'no_answer', id, ask, error });
    }
    const control = new AbortController();
    this.#asks.set(ask, control);
    onAsk(method, params, control.signal)
      .then(
        (value) => send({ type: 'answer', id, ask, value: value ?? null }),
        (thrown: unknown) => send({ type: 'no_answer', id, ask, error: toLinkError(thrown) }),
      )
      .finally(() => this.#asks.delete(ask));
  }

  withdraw(ask: number): void {
    this.#asks.get(ask)?.abort(failure('not_read'));
  }

  stopAsking(): void {
    for (const control of this.#asks.values()) control.abort(failure('not_read'));
  }

  #wake(): void {
    this.#more?.resolve();
    this.#more = undefined;
  }
}

type WithoutId<Of> = Of extends unknown ? Omit<Of, 'id'> : never;
export type ServedFrame = WithoutId<ServerFrame>;

/** A stream that the other side opened. */
export class ServedStream {
  readonly method: string;
  readonly params: Fields;
  readonly #control = new AbortController();
  /** Aborts when the other side cancels or is gone; its reason is a FabricError. */
  readonly signal: AbortSignal = this.#control.signal;
  /** Whether the connection was lost. */
  isCut = false;
  readonly #write: (frame: ServedFrame) => number;
  readonly #asks = new Map<number, PromiseWithResolvers<unknown>>();
  #room = MAX_UNREAD_LENGTH;
  #roomy: PromiseWithResolvers<void> | undefined;
  #asked = 0;

  constructor(method: string, params: Fields, write: (frame: ServedFrame) => number) {
    this.method = method;
    this.params = params;
    this.#write = write;
  }

  /** Waits until the reader has room for it. */
  async send(value: unknown): Promise<void> {
    this.signal.throwIfAborted();
    while (this.#room <= 0) {
      this.#roomy ??= Promise.withResolvers();
      await orAborted(this.#roomy.promise, this.signal);
    }
    this.#room -= this.#write({ type: 'item', value });
  }

  /** Asks the side that opened the stream; `signal` takes the question back. */
  async ask(method: string, params: Fields, signal?: AbortSignal): Promise<unknown> {
    this.signal.throwIfAborted();
    this.#asked += 1;
    const ask = this.#asked;
    const answer = Promise.withResolvers<unknown>();
    this.#asks.set(ask, answer);
    const withdraw = () => this.#tryWithdraw(ask);
    try {
      this.#write({ type: 'ask', ask, method, params });
      signal?.addEventListener('abort', withdraw, { once: true });
      return await orAborted(answer.promise, this.signal);
    } finally {
      signal?.removeEventListener('abort', withdraw);
      this.#asks.delete(ask);
    }
  }

  take(frame: Exclude<OpenerFrame, { type: 'open' }>) {
    switch (frame.type) {
      case 'room':
        this.#room += frame.length;
        if (this.#room <= 0) return;
        this.#roomy?.resolve();
        this.#roomy = undefined;
        return;
      case 'cancel':
        return this.cancel(fromLinkError(frame.error));
      case 'answer':
        return this.#asks.get(frame.ask)?.resolve(frame.value);
      case 'no_answer':
        return this.#asks.get(frame.ask)?.reject(fromLinkError(frame.error));
    }
  }

  /** Called by a signal: what is thrown there has no one to catch it. */
  #tryWithdraw(ask: number): void {
    try {
      this.#write({ type: 'withdraw', ask });
    } catch {
      // The connection is over, and the question with it.
    }
  }

  /** `isCut`: the connection is gone, not only the stream. */
  cancel(reason: FabricError, isCut = false): void {
    this.isCut ||= isCut;
    this.#control.abort(reason);
  }

  /** What is left of it ends. */
  finish(): void {
    this.cancel(failure('not_read'));
  }
}
