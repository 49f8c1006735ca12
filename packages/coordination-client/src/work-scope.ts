import { AsyncLocalStorage } from 'node:async_hooks';

interface Scope {
  readonly name: string;
  isOver: boolean;
}

/** Knows which works the code that asks is part of, through all that they call and await. */
export class WorkScope {
  readonly #storage = new AsyncLocalStorage<readonly Scope[]>();

  has(name: string): boolean {
    return this.#current().some((scope) => scope.name === name);
  }

  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const scope: Scope = { name, isOver: false };
    try {
      return await this.#storage.run([...this.#current(), scope], work);
    } finally {
      scope.isOver = true;
    }
  }

  /** What a work has left running is no part of it once it is over. */
  #current(): readonly Scope[] {
    return (this.#storage.getStore() ?? []).filter(({ isOver }) => !isOver);
  }
}
