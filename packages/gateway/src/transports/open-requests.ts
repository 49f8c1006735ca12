import { FabricError } from '@starloom/core';
import type { Load } from './backlog.ts';

type RequestId = string | number;

/** Requests of one client that are not answered: a client that has too many is refused the next. */
export class OpenRequests {
  readonly #most: Load;
  /** The bytes of each, by id; a client may use one twice. */
  readonly #open = new Map<RequestId, number[]>();
  #requests = 0;
  #bytes = 0;

  constructor(most: Load) {
    this.#most = most;
  }

  assertRoom(): void {
    const isFull = this.#requests >= this.#most.requests || this.#bytes >= this.#most.bytes;
    if (isFull) throw this.#tooMany();
  }

  begin(id: RequestId, bytes: number): void {
    this.#open.set(id, [...(this.#open.get(id) ?? []), bytes]);
    this.#requests += 1;
    this.#bytes += bytes;
  }

  end(id: RequestId): void {
    const [ended, ...others] = this.#open.get(id) ?? [];
    if (ended === undefined) return;
    if (others.length > 0) this.#open.set(id, others);
    else this.#open.delete(id);
    this.#requests -= 1;
    this.#bytes -= ended;
  }

  #tooMany(): FabricError {
    return new FabricError('OVERLOADED', 'Too many requests of this connection are not answered', {
      details: {
        reason: 'too_many_requests',
        allowed: this.#most.requests,
        allowed_bytes: this.#most.bytes,
        fix: 'ask again when some of them are answered',
      },
    });
  }
}
