// What this process holds in memory for each principal, over all of its connections: requests that are
// not answered, and answers that it does not read. A principal with too much of it gets no more: its
// next request is refused, and a connection whose answers it does not read is cut.

import { ServerResponse } from 'node:http';
import { FabricError } from '@starloom/core';

export interface HeldBytesOptions {
  readonly perPrincipal: number;
  readonly onCut: () => void;
}

/** A socket, or a response. */
export interface Outgoing {
  readonly writableLength: number;
  destroy(): unknown;
  on(event: 'drain' | 'close', listener: () => void): unknown;
}

/** Less than this is not worth counting: the number of calls and sockets is bounded too. */
export const SMALL_BYTES = 16 * 1024;

export class HeldBytes {
  readonly #options: HeldBytesOptions;
  readonly #held = new Map<string, number>();
  readonly #unread = new Map<Outgoing, number>();

  constructor(options: HeldBytesOptions) {
    this.#options = options;
  }

  /** OVERLOADED when the principal has too much already. */
  take(principalId: string, bytes: number): void {
    const { perPrincipal } = this.#options;
    if (this.of(principalId) + bytes > perPrincipal) throw tooMuch(perPrincipal);
    this.#add(principalId, bytes);
  }

  give(principalId: string, bytes: number): void {
    this.#add(principalId, -bytes);
  }

  of(principalId: string): number {
    return this.#held.get(principalId) ?? 0;
  }

  /** Something was written: what is still here of it counts until the client has taken it. */
  written(principalId: string, connection: Outgoing): void {
    const isKnown = this.#unread.has(connection);
    if (!isKnown && connection.writableLength <= SMALL_BYTES) return;
    if (!isKnown) {
      this.#unread.set(connection, 0);
      connection.on('drain', () => this.#recount(principalId, connection));
      connection.on('close', () => this.#forget(principalId, connection));
    }
    this.#recount(principalId, connection);
    if (this.of(principalId) <= this.#options.perPrincipal) return;
    this.#options.onCut();
    this.#forget(principalId, connection);
    connection.destroy();
  }

  #recount(principalId: string, connection: Outgoing): void {
    const before = this.#unread.get(connection);
    if (before === undefined) return;
    const { writableLength } = connection;
    this.#unread.set(connection, writableLength);
    this.#add(principalId, writableLength - before);
  }

  #forget(principalId: string, connection: Outgoing): void {
    this.#add(principalId, -(this.#unread.get(connection) ?? 0));
    this.#unread.delete(connection);
  }

  #add(principalId: string, bytes: number): void {
    const held = this.of(principalId) + bytes;
    if (held > 0) this.#held.set(principalId, held);
    else this.#held.delete(principalId);
  }
}

/** A response that is counted from the moment that its caller is known. */
export class CountedResponse extends ServerResponse {
  #held: HeldBytes | undefined;
  #principalId = '';

  countFor(principalId: string, held: HeldBytes): void {
    this.#held = held;
    this.#principalId = principalId;
  }

  override write(chunk: unknown, encoding?: unknown, done?: unknown): boolean {
    const hasRoom = super.write(chunk, encoding as BufferEncoding, done as () => void);
    this.#held?.written(this.#principalId, this);
    return hasRoom;
  }

  override end(chunk?: unknown, encoding?: unknown, done?: unknown): this {
    super.end(chunk, encoding as BufferEncoding, done as () => void);
    this.#held?.written(this.#principalId, this);
    return this;
  }
}

function tooMuch(limit: number): FabricError {
  return new FabricError('OVERLOADED', 'Too much is held in memory for this caller', {
    details: {
      reason: 'bytes_per_principal',
      limit,
      retry_after_ms: 1_000,
      fix: 'read your answers, send less at a time, or raise limits.bytes_per_principal',
    },
  });
}
