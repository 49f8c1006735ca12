/** The chunks of a body up to a limit. */
export class BoundedBody {
  readonly #limit: number;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Keeps what fits, and says whether that was all. */
  push(chunk: Buffer): boolean {
    const kept = chunk.subarray(0, this.#limit - this.#length);
    this.#chunks.push(kept);
    this.#length += kept.length;
    return kept.length === chunk.length;
  }

  toBuffer(): Buffer {
    const [first] = this.#chunks;
    return first && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
  }
}
