import { FabricError } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import type { Connection } from './connection.ts';

const LATEST_MS = 20_000;

interface Listener {
  readonly isRight: (payload: Buffer) => boolean;
  /** The last turn it had its message of. */
  heard: number;
}

/** What every listener must get in a turn, once and nothing else; anything else is a failure. */
export interface Turn {
  readonly number: number;
  isRight(payload: Buffer): boolean;
}

/** Many who listen on connections of their own. */
export class Audience {
  readonly #listeners: Listener[] = [];
  readonly #outcome = new Outcome();
  #turn: Turn = { number: -1, isRight: () => false };
  #missing = 0;
  #firstAt = 0;
  /** What one got was right, and mostly all get the same: comparing is cheaper than looking. */
  #right: Buffer | undefined;

  get size(): number {
    return this.#listeners.length;
  }

  /** One who must hear something of its own each time says what. */
  add(connection: Connection, isRight = (payload: Buffer) => this.#isRight(payload)): void {
    const listener: Listener = { isRight, heard: this.#turn.number };
    connection.onText = (payload) => this.#hear(listener, payload);
    connection.onLost = (why) => this.#outcome.fail(why);
    this.#listeners.push(listener);
  }

  /** Resolves when all have heard; says when the first had. */
  async hear(turn: Turn, speak: () => void): Promise<number> {
    this.#turn = turn;
    this.#missing = this.#listeners.length;
    this.#right = undefined;
    const all = this.#outcome.next();
    using deadline = deadlineSignal({ ms: LATEST_MS });
    deadline.signal.addEventListener('abort', () => {
      this.#outcome.fail(`update ${turn.number}: ${this.#missing} never came`);
    });
    speak();
    this.#stayAwake();
    await all;
    return this.#firstAt;
  }

  /**
   * Until the turn is over. Clients on machines of their own cost the server nothing but what it
   * sends; one that sleeps on this machine would have to be woken up, message by message.
   */
  #stayAwake(): void {
    if (this.#missing > 0 && !this.#outcome.hasFailed) setImmediate(() => this.#stayAwake());
  }

  #hear(listener: Listener, payload: Buffer): void {
    const { number } = this.#turn;
    if (listener.heard === number || !listener.isRight(payload)) {
      this.#outcome.fail(`not what update ${number} should bring: ${payload}`);
      return;
    }
    if (this.#missing === this.#listeners.length) this.#firstAt = performance.now();
    listener.heard = number;
    this.#missing -= 1;
    if (this.#missing === 0) this.#outcome.pass();
  }

  #isRight(payload: Buffer): boolean {
    if (this.#right?.equals(payload)) return true;
    const isRight = this.#turn.isRight(payload);
    if (isRight) this.#right = Buffer.from(payload);
    return isRight;
  }
}

/** Of one turn after the other; what goes wrong between them fails the next. */
class Outcome {
  #failure: FabricError | undefined;
  #current: PromiseWithResolvers<void> | undefined;

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  next(): Promise<void> {
    const current = Promise.withResolvers<void>();
    this.#current = current;
    if (this.#failure) current.reject(this.#failure);
    return current.promise;
  }

  pass(): void {
    this.#current?.resolve();
  }

  fail(why: string): void {
    this.#failure ??= new FabricError('UPSTREAM_ERROR', why.slice(0, 500));
    this.#current?.reject(this.#failure);
  }
}
