// What stays open for long (WebSockets, event streams) was authenticated once, when it began. It ends
// when its credential is revoked or expires; a request on anything else is authenticated by itself.

import type { Authenticator, Principal } from '@starloom/identity';

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
