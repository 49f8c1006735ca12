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
