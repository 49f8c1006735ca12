import type { FabricError } from '@starloom/core';

/** A text as it came, or why it could not be read. */
export type Incoming = string | FabricError;

/** Carries one message at a time in each direction. */
export interface MessageChannel {
  /**
   * Calls back for each text that arrives, then once when the other side is gone. While a promise
   * that `onText` returned is pending, nothing is read; what was read before may still come.
   */
  open(onText: (text: Incoming) => Promise<void> | void, onClose: () => void): void;
  /**
   * Nothing when there is room for the next, else a promise of it. Throws when the reader is gone.
   */
  readonly write: (text: string) => Promise<void> | void;
  /** Resolves when all that was written has left this process, or the reader is gone. */
  flushed(): Promise<void>;
  close(): Promise<void>;
}

export interface PacedChannel extends MessageChannel {
  /** Resolves when the reader has taken what was written so far; `undefined` when it has. */
  room(): Promise<void> | undefined;
}

/** A channel that knows whether its reader keeps up, also for writes that no caller waits for. */
export function pacedChannel(channel: MessageChannel): PacedChannel {
  let last: Promise<void> | undefined;
  return {
    open: (onText, onClose) => channel.open(onText, onClose),
    close: () => channel.close(),
    flushed: () => channel.flushed(),
    room: () => last,
    write(text) {
      const written = channel.write(text);
      if (written === undefined) return;
      const settled = written.then(forget, forget);
      function forget() {
        if (last === settled) last = undefined;
      }
      last = settled;
      return written;
    },
  };
}

export interface Load {
  readonly requests: number;
  readonly bytes: number;
}

/** What was taken from a connection and is not done, against the most there should be of it. */
export class Backlog {
  readonly #most: Load;
  readonly #works = new Set<Promise<unknown>>();
  #requests = 0;
  #bytes = 0;
  #room: PromiseWithResolvers<void> | undefined;

  constructor(most: Load) {
    this.#most = most;
  }

  get isFull(): boolean {
    return this.#requests >= this.#most.requests || this.#bytes >= this.#most.bytes;
  }

  /** Nothing while there is room for more, else a promise of it; `work` never rejects. */
  add(work: Promise<unknown>, { requests, bytes }: Load): Promise<void> | undefined {
    this.#requests += requests;
    this.#bytes += bytes;
    this.#works.add(work);
    void work.then(() => {
      this.#works.delete(work);
      this.#requests -= requests;
      this.#bytes -= bytes;
      if (this.#isHalfEmpty()) this.#giveRoom();
    });
    if (!this.isFull) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  async done(): Promise<void> {
    await Promise.all(this.#works);
  }

  /** Not at the first room, or reading would stop and go with every message. */
  #isHalfEmpty(): boolean {
    return this.#requests <= this.#most.requests / 2 && this.#bytes <= this.#most.bytes / 2;
  }

  #giveRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
