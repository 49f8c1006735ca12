// Hints of other gateways: a connection that only listens, and asks for the time. While it is down hints
// are lost, so every listener is called once after each reconnect.

import type { Clock } from '@starloom/core';
import type { Client } from 'pg';

export interface NotificationsOptions {
  readonly url: string;
  readonly channel: string;
  readonly application: string;
  readonly onHint: (payload: string) => void;
  /** Hints may have been missed. */
  readonly onGap: () => void;
  /** Is set every few seconds. */
  readonly time: DatabaseClock;
  readonly onError: (error: unknown) => void;
}

const RECONNECT_MS = 250;
/** A connection that died in silence is noticed by then. */
const PROBE_MS = 5_000;
const LATE_MS = 1_000;

export class Notifications {
  readonly #options: NotificationsOptions;
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  private constructor(options: NotificationsOptions) {
    this.#options = options;
  }

  /** Rejects when the server is away. */
  static async open(options: NotificationsOptions): Promise<Notifications> {
    const notifications = new Notifications(options);
    await notifications.#connect();
    return notifications;
  }

  /** Goes on trying while the server is away. */
  static start(options: NotificationsOptions): Notifications {
    const notifications = new Notifications(options);
    notifications.#retryLater(0);
    return notifications;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#client?.end().catch(() => {});
  }

  async #connect(): Promise<void> {
    const { default: pg } = await import('pg');
    const client = new pg.Client({
      connectionString: this.#options.url,
      connectionTimeoutMillis: PROBE_MS,
      application_name: this.#options.application,
    });
    this.#client = client;
    client.on('notification', ({ payload = '' }) => this.#options.onHint(payload));
    client.on('error', (error) => this.#onLost(client, error));
    client.on('end', () => this.#onLost(client, undefined));
    await client.connect();
    await client.query(`LISTEN ${this.#options.channel}`);
    await this.#askTime(client);
    this.#probeLater(client);
  }

  #probeLater(client: Client): void {
    this.#timer = setTimeout(() => {
      const late = setTimeout(() => this.#onLost(client, new Error('no answer')), PROBE_MS);
      this.#askTime(client).then(
        () => {
          clearTimeout(late);
          if (this.#client === client && !this.#isClosed) this.#probeLater(client);
        },
        (error: unknown) => {
          clearTimeout(late);
          this.#onLost(client, error);
        },
      );
    }, PROBE_MS).unref();
  }

  async #askTime(client: Client): Promise<void> {
    const askedAt = performance.now();
    const sql = 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now';
    const { rows } = await client.query(sql);
    // A late answer is not used: this process may have been paused.
    if (performance.now() - askedAt < LATE_MS) this.#options.time.set(Number(rows[0]?.now));
  }

  #onLost(client: Client, error: unknown): void {
    if (this.#client !== client || this.#isClosed) return;
    this.#client = undefined;
    if (error !== undefined) this.#options.onError(error);
    clearTimeout(this.#timer);
    void client.end().catch(() => {});
    this.#retryLater();
  }

  #retryLater(ms = RECONNECT_MS): void {
    this.#timer = setTimeout(() => {
      this.#connect().then(
        () => this.#options.onGap(),
        (error: unknown) => {
          this.#client = undefined;
          this.#options.onError(error);
          if (!this.#isClosed) this.#retryLater();
        },
      );
    }, ms).unref();
  }
}

/** The time of the database, once it is known: gateways agree on leases, however their own clocks are set. */
export class DatabaseClock implements Clock {
  #now = Date.now();
  #at = performance.now();

  set(now: number): void {
    this.#now = now;
    this.#at = performance.now();
  }

  now(): number {
    return Math.floor(this.#now + this.monotonic() - this.#at);
  }

  monotonic(): number {
    return performance.now();
  }
}
