// One connection that heals itself. A command waits a short while for a connection that was lost
// just now, and fails at once when Redis has been away for longer. One that gets no answer in time
// fails, too, and the connection is made anew: the link may be half open.

import { FabricError, type Log } from '@starloom/core';
import { timerWheelOf } from '@starloom/wire';
import type { RedisClientOptions, RedisFunctions, RedisModules, RedisScripts } from 'redis';

type Options = RedisClientOptions<RedisModules, RedisFunctions, RedisScripts, 2>;

/** What is needed of the client library. */
export interface RedisClient {
  readonly isReady: boolean;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'ready', listener: () => void): unknown;
  connect(): Promise<unknown>;
  sendCommand<Reply>(args: readonly string[]): Promise<Reply>;
  destroy(): void;
}

export interface RedisConnectionOptions {
  readonly createClient: (options: Options) => RedisClient;
  readonly url: string;
  readonly log: Log;
  /** How long a command may take, and how long it waits for a lost connection. */
  readonly deadlineMs?: number | undefined;
}

const DEADLINE_MS = 3000;
const SLOWEST_RECONNECT_MS = 500;

export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #deadlineMs: number;
  readonly #wheel = timerWheelOf();
  readonly #readyListeners = new Set<() => void>();
  #client: RedisClient;
  #ready = Promise.withResolvers<void>();
  #lostAt: number | undefined = performance.now();
  #problem = 'not connected';
  #isClosed = false;

  constructor(options: RedisConnectionOptions) {
    this.#options = options;
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    this.#client = this.#connect();
  }

  /** Called each time the connection is there (again). */
  onReady(listener: () => void): void {
    this.#readyListeners.add(listener);
  }

  async send<Reply>(args: readonly string[], deadlineMs = this.#deadlineMs): Promise<Reply> {
    if (!this.#client.isReady) await this.#untilReady();
    const client = this.#client;
    return new Promise<Reply>((resolve, reject) => {
      const timer = this.#wheel.schedule(deadlineMs, () => {
        reject(unavailable('no answer in time'));
        this.#renew(client);
      });
      client.sendCommand<Reply>(args).then(
        (reply) => {
          timer.unlink();
          resolve(reply);
        },
        (error: Error) => {
          timer.unlink();
          reject(toFabricError(error));
        },
      );
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#client.destroy();
    this.#ready.promise.catch(() => {});
    this.#ready.reject(unavailable('the store is closed'));
  }

  #connect(): RedisClient {
    const { createClient, url, log } = this.#options;
    const client = createClient({
      url,
      RESP: 2,
      disableOfflineQueue: true,
      commandOptions: { timeout: 0 },
      socket: {
        connectTimeout: this.#deadlineMs,
        reconnectStrategy: (retries) => Math.min(20 * 2 ** retries, SLOWEST_RECONNECT_MS),
      },
    });
    client.on('ready', () => {
      if (client !== this.#client) return;
      const away_ms = Math.round(performance.now() - (this.#lostAt ?? performance.now()));
      log.info({ away_ms }, 'connected to Redis');
      this.#lostAt = undefined;
      this.#ready.resolve();
      for (const listener of this.#readyListeners) listener();
    });
    client.on('error', (error) => {
      if (client !== this.#client || this.#isClosed) return;
      this.#problem = error.message;
      if (this.#lostAt !== undefined) return;
      log.warn({ problem: error.message }, 'lost the connection to Redis');
      this.#lose();
    });
    client.connect().catch((error: Error) => {
      if (!this.#isClosed) log.warn({ problem: error.message }, 'gave up a connection to Redis');
    });
    return client;
  }

  #renew(client: RedisClient): void {
    if (this.#isClosed || client !== this.#client || !client.isReady) return;
    this.#options.log.warn({ deadline_ms: this.#deadlineMs }, 'Redis did not answer in time');
    this.#lose();
    this.#client = this.#connect();
    client.destroy();
  }

  #lose(): void {
    this.#lostAt = performance.now();
    this.#ready = Promise.withResolvers();
  }

  async #untilReady(): Promise<void> {
    if (this.#isClosed) throw unavailable('the store is closed');
    const left = (this.#lostAt ?? performance.now()) + this.#deadlineMs - performance.now();
    if (left <= 0) throw unavailable(this.#problem);
    const late = Promise.withResolvers<never>();
    const timer = this.#wheel.schedule(left, () => late.reject(unavailable(this.#problem)));
    try {
      await Promise.race([this.#ready.promise, late.promise]);
    } finally {
      timer.unlink();
    }
  }
}

function unavailable(problem: string, cause?: unknown): FabricError {
  return new FabricError('OVERLOADED', 'The coordination engine cannot be reached', {
    details: { reason: 'engine_unavailable', engine: 'redis', problem, fix: 'try again' },
    cause,
  });
}

/** States in which Redis answers, but does nothing. */
const UNABLE =
  /^(LOADING|READONLY|OOM|MISCONF|BUSY|NOREPLICAS|MASTERDOWN|CLUSTERDOWN|NOAUTH|WRONGPASS)\b/;

/** An unknown script is for the caller to send again; any other refusal is a mistake of ours. */
function toFabricError(error: Error): Error {
  if (UNABLE.test(error.message)) return unavailable(error.message, error);
  if (error.message.startsWith('NOSCRIPT')) return error;
  const isReply = /^[A-Z]+ /.test(error.message);
  return isReply ? FabricError.from(error) : unavailable(error.message, error);
}
