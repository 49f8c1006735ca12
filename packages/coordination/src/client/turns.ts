/** Works of one name, one after the other, whatever comes of each. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  take<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const done = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(name, done);
    void done.then(() => this.#last.get(name) === done && this.#last.delete(name));
    return turn;
  }
}
