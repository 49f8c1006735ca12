// How long each certificate is still valid, for the metric; and a warning in the log in time.

import type { Clock, Log } from '@starloom/core';

const DAY_MS = 24 * 60 * 60 * 1000;
const WARN_DAYS = 14;
const LOOK_MS = 12 * 60 * 60 * 1000;

export class CertificateExpiry {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout;
  /** By certificate, in milliseconds. */
  readonly #until = new Map<string, number>();

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
    this.#timer = setInterval(() => this.warn(), LOOK_MS).unref();
  }

  set(name: string, expiresAt: number): void {
    this.#until.set(name, expiresAt);
    this.#warnOf(name, expiresAt);
  }

  delete(name: string): void {
    this.#until.delete(name);
  }

  /** Days that are left; below 0 it has expired. */
  *days(): Iterable<[name: string, days: number]> {
    for (const [name, until] of this.#until) yield [name, (until - this.#clock.now()) / DAY_MS];
  }

  warn(): void {
    for (const [name, until] of this.#until) this.#warnOf(name, until);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #warnOf(certificate: string, until: number): void {
    const days = Math.floor((until - this.#clock.now()) / DAY_MS);
    if (days >= WARN_DAYS) return;
    const about = { certificate, days, valid_to: new Date(until).toISOString() };
    const what = days < 0 ? 'a certificate has expired' : 'a certificate expires soon';
    this.#log.warn({ ...about, fix: 'replace its file; no restart is needed' }, what);
  }
}
