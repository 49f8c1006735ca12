// How many bytes were kept lately, all for the same time. Counted by parts of that time, so that it
// takes no more room for many than for few; what was kept counts for up to one part longer.

const PARTS = 10;

export class KeptBytes {
  readonly #partMs: number;
  /** By number of the part, oldest first. */
  readonly #parts = new Map<number, number>();

  constructor(keptMs: number) {
    this.#partMs = keptMs / PARTS;
  }

  add(bytes: number, now: number): void {
    const part = this.#partAt(now);
    this.#parts.set(part, (this.#parts.get(part) ?? 0) + bytes);
  }

  total(now: number): number {
    const oldest = this.#partAt(now) - PARTS;
    let total = 0;
    for (const [part, bytes] of this.#parts) {
      if (part < oldest) this.#parts.delete(part);
      else total += bytes;
    }
    return total;
  }

  #partAt(now: number): number {
    return Math.floor(now / this.#partMs);
  }
}
