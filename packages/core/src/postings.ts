import { TRUST_TIERS, type TrustTier } from './trust-tier.ts';

/** Ids in order. Arrays, since there may be a hundred thousand of them: sets take five times as much. */
export class Postings {
  #ids: string[] = [];
  #isSorted = true;
  #ranked: readonly string[] | undefined;

  get size(): number {
    return this.#ids.length;
  }

  sorted(): readonly string[] {
    if (!this.#isSorted) this.#ids.sort();
    this.#isSorted = true;
    return this.#ids;
  }

  /** The most trusted first, then by id. */
  ranked(tierOf: (id: string) => TrustTier): readonly string[] {
    if (this.#ranked) return this.#ranked;
    const byTier = Object.groupBy(this.sorted(), tierOf);
    this.#ranked = TRUST_TIERS.flatMap((tier) => byTier[tier] ?? []);
    return this.#ranked;
  }

  /** One of many is put in its place with all of them, when they are read. */
  add(id: string, isOneOfMany: boolean): void {
    const last = this.#ids.at(-1);
    this.#ranked = undefined;
    if (last === undefined || last < id) this.#ids.push(id);
    else if (this.#isSorted && !isOneOfMany) this.#ids.splice(findSorted(this.#ids, id), 0, id);
    else {
      this.#isSorted = false;
      this.#ids.push(id);
    }
  }

  delete(id: string): void {
    const at = findSorted(this.sorted(), id);
    if (this.#ids[at] === id) this.#ids.splice(at, 1);
    this.#ranked = undefined;
  }
}

/** Ids by key. */
export class PostingsIndex {
  readonly #lists = new Map<string, Postings>();

  get(key: string): Postings | undefined {
    return this.#lists.get(key);
  }

  add(key: string, id: string, isOneOfMany: boolean): void {
    const known = this.#lists.get(key) ?? new Postings();
    known.add(id, isOneOfMany);
    this.#lists.set(key, known);
  }

  delete(key: string, id: string): void {
    const known = this.#lists.get(key);
    known?.delete(id);
    if (known?.size === 0) this.#lists.delete(key);
  }
}

/** Where `id` is, or would be. */
function findSorted(ids: readonly string[], id: string): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] ?? '') < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
