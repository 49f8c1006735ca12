import { FabricError, type Log } from '@starloom/core';

/**
 * Sends a notice per key, one at a time: what happens while one is under way becomes one more after
 * it, however much it was. So a slow reader gets few notices, and none is kept for it.
 */
export class Coalesced {
  readonly #send: (key: string) => Promise<void>;
  readonly #log: Log;
  /** Keys whose notice is under way, with whether one more is due. */
  readonly #sending = new Map<string, boolean>();
  #closed = false;

  constructor(send: (key: string) => Promise<void>, log: Log) {
    this.#send = send;
    this.#log = log;
  }

  note(key: string): void {
    if (this.#closed) return;
    const isUnderWay = this.#sending.has(key);
    this.#sending.set(key, isUnderWay);
    if (!isUnderWay) void this.#sendAll(key);
  }

  close(): void {
    this.#closed = true;
    this.#sending.clear();
  }

  async #sendAll(key: string): Promise<void> {
    do {
      this.#sending.set(key, false);
      try {
        await this.#send(key);
      } catch (error) {
        this.#log.debug({ error: FabricError.from(error) }, 'a notice could not be sent');
      }
    } while (this.#sending.get(key));
    this.#sending.delete(key);
  }
}
