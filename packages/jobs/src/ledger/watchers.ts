/** Listeners by key. Costs nothing for keys that nothing listens to. */
export class Watchers {
  readonly #listeners = new Map<string, Set<() => void>>();

  get size(): number {
    return this.#listeners.size;
  }

  add(key: string, listener: () => void): () => void {
    const all = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, all);
    // A function of its own, so that the same listener can be added twice.
    const entry = () => listener();
    all.add(entry);
    return () => {
      all.delete(entry);
      if (all.size === 0 && this.#listeners.get(key) === all) this.#listeners.delete(key);
    };
  }

  notify(key: string): void {
    for (const listener of [...(this.#listeners.get(key) ?? [])]) listener();
  }

  notifyAll(): void {
    for (const key of [...this.#listeners.keys()]) this.notify(key);
  }
}
