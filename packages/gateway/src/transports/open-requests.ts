import { FabricError } from '@starloom/core';
import type { Load } from './backlog.ts';
import type { HeldBytes } from './held-bytes.ts';

type RequestId = string | number;

/** Whose requests they are, where all of its connections are counted together. */
export interface Holder {
  readonly held: Pick<HeldBytes, 'take' | 'give'>;
  readonly principalId: string;
}

/** Requests of one client that are not answered: a client that has too many is refused the next. */
export class OpenRequests {
  readonly #most: Load;
  /** The bytes of each, by id; a client may use one twice. */
  readonly #open = new Map<RequestId, number[]>();
  #requests = 0;
  #bytes = 0;

  readonly #holder: Holder | undefined;

  constructor(most: Load, holder?: Holder) {
    this.#most = most;
    this.#holder = holder;
  }

  /** OVERLOADED when there is no room for this much, here or for all connections of the principal. */
  assertRoom(bytes: number): void {
    const isFull = this.#requests >= this.#most.requests || this.#bytes >= this.#most.bytes;
    if (isFull) throw this.#tooMany();
    this.#hold(bytes);
    this.#hold(-bytes);
  }

  begin(id: RequestId, bytes: number): void {
    this.#hold(bytes);
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
    this.#hold(-ended);
  }

  /** The client is gone: nothing of it is held any more. */
  close(): void {
    for (const id of this.#open.keys()) while (this.#open.has(id)) this.end(id);
  }

  #hold(bytes: number): void {
    const { held, principalId } = this.#holder ?? {};
    if (principalId === undefined) return;
    if (bytes < 0) held?.give(principalId, -bytes);
    else held?.take(principalId, bytes);
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
