/**
 * Keeps at least as many values as it is asked to, those that were used last, and never more than
 * twice as many. Two generations instead of one exact order: using a value that was used lately
 * changes nothing, so looking one up costs no more than in any map.
 */
export class RecentMap<Value> {
  readonly #size: number;
  #recent = new Map<string, Value>();
  #older = new Map<string, Value>();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): Value | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: string, value: Value): void {
    if (this.#recent.size >= this.#size && !this.#recent.has(key)) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, value);
  }

  delete(key: string): void {
    this.#recent.delete(key);
    this.#older.delete(key);
  }
}
