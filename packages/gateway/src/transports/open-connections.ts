import type { Authenticator, Principal } from '@starloom/identity';
import { failure } from '../reasons.ts';

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
    if (open >= this.#limit) throw failure('sockets_per_principal', { limit: this.#limit });
    this.#open.set(principalId, open + 1);
    socket.once('close', () => this.#remove(principalId));
  }

  #remove(principalId: string): void {
    const left = (this.#open.get(principalId) ?? 1) - 1;
    if (left > 0) this.#open.set(principalId, left);
    else this.#open.delete(principalId);
  }
}

// What stays open for long (WebSockets, event streams) was authenticated once, when it began. It ends
// when its credential is revoked or expires; a request on anything else is authenticated by itself.

/** Credentials expire without a notice, so they are looked at now and then. */
const SWEEP_MS = 1_000;

export class StaleConnections {
  readonly #authenticator: Authenticator;
  readonly #open = new Map<object, { readonly principal: Principal; readonly end: () => void }>();
  readonly #sweeping: NodeJS.Timeout;
  readonly #unwatch: (() => void) | undefined;

  constructor(authenticator: Authenticator) {
    this.#authenticator = authenticator;
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_MS).unref();
    this.#unwatch = authenticator.onChange?.(() => this.#sweep());
  }

  /** `end` is called once, if the credential ends before `remove`. */
  add(connection: object, principal: Principal, end: () => void): void {
    this.#open.set(connection, { principal, end });
  }

  remove(connection: object): void {
    this.#open.delete(connection);
  }

  close(): void {
    clearInterval(this.#sweeping);
    this.#unwatch?.();
  }

  #sweep(): void {
    for (const [connection, { principal, end }] of this.#open) {
      if (this.#authenticator.isCurrent(principal)) continue;
      this.#open.delete(connection);
      end();
    }
  }
}
