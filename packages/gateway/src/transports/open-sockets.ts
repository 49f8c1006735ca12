import { FabricError } from '@starloom/core';

interface Closable {
  once(event: 'close', listener: () => void): unknown;
}

/**
 * The connections of each principal that stay open, WebSockets and streams of events, bounded so that
 * none of them uses up the connections of all.
 */
export class OpenSockets {
  readonly #limit: number;
  readonly #open = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts the connection until it is closed, or throws OVERLOADED. */
  add(principalId: string, socket: Closable): void {
    const open = this.#open.get(principalId) ?? 0;
    if (open >= this.#limit) throw tooMany(this.#limit);
    this.#open.set(principalId, open + 1);
    socket.once('close', () => this.#remove(principalId));
  }

  #remove(principalId: string): void {
    const left = (this.#open.get(principalId) ?? 1) - 1;
    if (left > 0) this.#open.set(principalId, left);
    else this.#open.delete(principalId);
  }
}

function tooMany(limit: number): FabricError {
  return new FabricError('OVERLOADED', `This caller has ${limit} WebSockets and streams open`, {
    details: {
      reason: 'sockets_per_principal',
      limit,
      retry_after_ms: 1_000,
      fix: 'close some, or raise limits.sockets_per_principal',
    },
  });
}
