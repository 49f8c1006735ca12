// Finds text that was copied word for word. The source is indexed by its aligned windows of 16
// characters, the candidate is read with a rolling hash: whatever run of 31 characters or more they
// share is found, in time linear in both.

const WINDOW = 16;
const BASE = 257;
const LEAST_DISTINCT = 6;

/** The shortest copy that counts. */
export const SHARED_RUN = 32;

export class RunIndex {
  readonly #text: string;
  readonly #windows = new Map<number, number>();
  /** One bit for each hash, to look up only what is likely there. */
  readonly #likely: Uint32Array;
  readonly #mask: number;

  constructor(text: string) {
    this.#text = text;
    const bits = 2 ** Math.ceil(Math.log2(text.length + 64));
    this.#likely = new Uint32Array(bits / 32);
    this.#mask = bits - 1;
    for (let at = 0; at + WINDOW <= text.length; at += WINDOW) {
      if (isTelling(text, at)) this.#add(hashAt(text, at), at);
    }
  }

  /** The first run of at least 32 characters that `candidate` shares with the text. */
  find(candidate: string, accept: (run: string) => boolean = () => true): string | undefined {
    if (candidate.length < SHARED_RUN || this.#windows.size === 0) return undefined;
    let hash = hashAt(candidate, 0);
    for (let at = 0; ; at += 1) {
      const position = this.#isLikely(hash) ? this.#windows.get(hash) : undefined;
      if (position !== undefined) {
        const run = this.#runAround(candidate, at, position);
        if (run.length >= SHARED_RUN && accept(run)) return run;
      }
      if (at + WINDOW >= candidate.length) return undefined;
      hash = roll(hash, candidate.charCodeAt(at), candidate.charCodeAt(at + WINDOW));
    }
  }

  #add(hash: number, at: number): void {
    const bit = hash & this.#mask;
    this.#likely[bit >>> 5] = (this.#likely[bit >>> 5] ?? 0) | (1 << (bit & 31));
    this.#windows.set(hash, at);
  }

  #isLikely(hash: number): boolean {
    const bit = hash & this.#mask;
    return ((this.#likely[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }

  #runAround(candidate: string, at: number, position: number): string {
    const text = this.#text;
    let start = 0;
    while (
      start < at &&
      start < position &&
      candidate[at - start - 1] === text[position - start - 1]
    )
      start += 1;
    let end = 0;
    while (at + end < candidate.length && candidate[at + end] === text[position + end]) end += 1;
    return end < WINDOW ? '' : candidate.slice(at - start, at + end);
  }
}

const TOP = power(WINDOW - 1);

function hashAt(text: string, at: number): number {
  let hash = 0;
  for (let index = at; index < at + WINDOW; index += 1) {
    hash = (Math.imul(hash, BASE) + text.charCodeAt(index)) | 0;
  }
  return hash;
}

function roll(hash: number, out: number, next: number): number {
  return (Math.imul(hash - Math.imul(out, TOP), BASE) + next) | 0;
}

function power(exponent: number): number {
  let value = 1;
  for (let index = 0; index < exponent; index += 1) value = Math.imul(value, BASE);
  return value;
}

/** Rules and blanks say nothing of where a text came from. */
function isTelling(text: string, at: number): boolean {
  let kinds = 0;
  for (let index = at; index < at + WINDOW; index += 1) kinds |= 1 << (text.charCodeAt(index) & 31);
  let distinct = 0;
  for (; kinds !== 0; kinds &= kinds - 1) distinct += 1;
  return distinct >= LEAST_DISTINCT;
}
