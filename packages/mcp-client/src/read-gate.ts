/** Open unless a reader holds it. */
export class ReadGate {
  readonly #holders = new Set<object>();
  #opened = Promise.withResolvers<void>();

  get isHeld(): boolean {
    return this.#holders.size > 0;
  }

  opened(): Promise<void> {
    return this.isHeld ? this.#opened.promise : Promise.resolve();
  }

  hold(holder: object): void {
    if (!this.isHeld) this.#opened = Promise.withResolvers();
    this.#holders.add(holder);
  }

  release(holder: object): void {
    if (this.#holders.delete(holder) && !this.isHeld) this.#opened.resolve();
  }

  /** The readers that hold it. */
  open(): void {
    this.#holders.clear();
    this.#opened.resolve();
  }
}
