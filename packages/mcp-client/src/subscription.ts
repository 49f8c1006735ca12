// The stream on which a 2026-07-28 agent tells of changed lists. Opened on demand and again, ever
// more slowly, when it breaks; whatever changed meanwhile is unknown, so a break counts as a change.

import type { Client, McpSubscription } from '@modelcontextprotocol/client';
import { Backoff, type Log } from '@starloom/core';
import type { ListKind } from './list-kinds.ts';

const RETRY = { firstMs: 1_000, longestMs: 60_000 };
const ACKNOWLEDGE_TIMEOUT_MS = 10_000;

export interface SubscriptionOptions {
  readonly client: Client;
  readonly kinds: readonly ListKind[];
  readonly log: Log;
  /** It was open and is no more. */
  readonly onLost: () => void;
}

export class ListSubscription {
  readonly #options: SubscriptionOptions;
  #state: 'idle' | 'opening' | 'open' | 'closed' = 'idle';
  #current: McpSubscription | undefined;
  readonly #backoff = new Backoff(RETRY);
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
  }

  /** Is it open? Begins to be when it was not. */
  open(): boolean {
    if (this.#state === 'idle' && this.#timer === undefined) void this.#listen();
    return this.#state === 'open';
  }

  close(): void {
    this.#state = 'closed';
    clearTimeout(this.#timer);
    this.#current?.close().catch(() => {});
  }

  async #listen(): Promise<void> {
    this.#state = 'opening';
    const { client, kinds, log, onLost } = this.#options;
    const filter = Object.fromEntries(kinds.map((kind) => [`${kind}ListChanged`, true]));
    try {
      this.#current = await client.listen(filter, { timeout: ACKNOWLEDGE_TIMEOUT_MS });
      if (this.#isClosed()) return this.close();
      this.#state = 'open';
      this.#backoff.succeeded();
      await this.#current.closed;
      if (!this.#isClosed()) onLost();
    } catch (error) {
      log.debug({ cause: String(error) }, 'the agent does not tell of changed lists');
    }
    if (!this.#isClosed()) this.#later();
  }

  #later(): void {
    this.#state = 'idle';
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#listen();
    }, this.#backoff.failed()).unref();
  }

  #isClosed(): boolean {
    return this.#state === 'closed';
  }
}
