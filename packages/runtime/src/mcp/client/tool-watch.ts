import type { Client, McpSubscription } from '@modelcontextprotocol/client';

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 60_000;
const ACKNOWLEDGE_TIMEOUT_MS = 10_000;

/**
 * The stream on which a server of the current revision tells that its tools have changed. Opened again,
 * ever more slowly, when it breaks; what changed meanwhile is unknown, so a break counts as a change.
 */
export class ToolWatch {
  readonly #client: Client;
  readonly #onChange: () => void;
  #subscription: McpSubscription | undefined;
  #timer: NodeJS.Timeout | undefined;
  #delayMs = FIRST_DELAY_MS;
  #isClosed = false;

  constructor(client: Client, onChange: () => void) {
    this.#client = client;
    this.#onChange = onChange;
    void this.#listen();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#subscription?.close().catch(() => {});
  }

  async #listen(): Promise<void> {
    try {
      const options = { timeout: ACKNOWLEDGE_TIMEOUT_MS };
      this.#subscription = await this.#client.listen({ toolsListChanged: true }, options);
      if (this.#isClosed) return this.close();
      this.#delayMs = FIRST_DELAY_MS;
      await this.#subscription.closed;
      if (!this.#isClosed) this.#onChange();
    } catch {
      // A server that does not take the subscription is asked again below.
    }
    if (!this.#isClosed) this.#later();
  }

  #later(): void {
    this.#timer = setTimeout(() => void this.#listen(), this.#delayMs).unref();
    this.#delayMs = Math.min(this.#delayMs * 2, MAX_DELAY_MS);
  }
}
