// One connection that heals itself. A command waits a short while for a connection that was lost
// just now, and fails at once when Redis has been away for longer. Where no answer comes in time,
// to a command or to the greeting, the connection is recreated: the link may be half open. So it is
// when it leads to a replica: after a failover the name leads elsewhere.

import { backoffMs, FabricError, type Log } from '@starloom/core';
import { timerWheelOf, type WheelTimer } from '@starloom/wire';
import type { RedisClientOptions, RedisFunctions, RedisModules, RedisScripts } from 'redis';
import type { StoreWarning } from '../coordination-store.ts';
import { failure } from '../reasons.ts';

type Options = RedisClientOptions<RedisModules, RedisFunctions, RedisScripts, 2>;

/** What is needed of the client library. */
export interface RedisClient {
  readonly isReady: boolean;
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** The link is there, and the greeting begins. */
  on(event: 'connect', listener: () => void): unknown;
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

export interface SendOptions {
  readonly deadlineMs?: number | undefined;
  /** Only on this one of `connected`, not on a later one. */
  readonly link?: number | undefined;
}

const DEADLINE_MS = 3000;
const RECONNECT = { firstMs: 20, longestMs: 500 };
/** A connection as young as this is not recreated because of where it leads. */
const YOUNG_MS = 1000;

export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #deadlineMs: number;
  readonly #wheel = timerWheelOf();
  readonly #readyListeners = new Set<() => void>();
  #client: RedisClient;
  #ready = Promise.withResolvers<void>();
  #lostAt: number | undefined = performance.now();
  #readyAt = 0;
  #link = 0;
  #problem = 'not connected';
  #isClosed = false;

  constructor(options: RedisConnectionOptions) {
    this.#options = options;
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    this.#client = this.#connect();
  }

  onReady(listener: () => void): void {
    this.#readyListeners.add(listener);
  }

  /** The number of the link that is there now, or soon. */
  async awaitLink(): Promise<number> {
    if (!this.#client.isReady) await this.#untilReady();
    return this.#link;
  }

  async send<Reply>(
    args: readonly string[],
    { deadlineMs = this.#deadlineMs, link }: SendOptions = {},
  ): Promise<Reply> {
    if (!this.#client.isReady) await this.#untilReady();
    if (link !== undefined && link !== this.#link)
      throw unavailableFailure('the connection is a new one');
    const client = this.#client;
    return new Promise<Reply>((resolve, reject) => {
      const timer = this.#wheel.schedule(deadlineMs, () => {
        reject(unavailableFailure('no answer in time'));
        this.#replace(client, 'no answer in time');
      });
      client.sendCommand<Reply>(args).then(
        (reply) => {
          timer.unlink();
          resolve(reply);
        },
        (error: Error) => {
          timer.unlink();
          reject(toEngineError(error));
          if (client === this.#client && isReplica(error)) this.renew(error.message);
        },
      );
    });
  }

  /** Connects once more, since the address may lead to another server by now. */
  renew(problem: string): void {
    const isYoung = performance.now() - this.#readyAt < YOUNG_MS;
    if (this.#client.isReady && !isYoung) this.#replace(this.#client, problem);
  }

  close(): void {
    this.#isClosed = true;
    this.#client.destroy();
    this.#ready.promise.catch(() => {});
    this.#ready.reject(unavailableFailure('the store is closed'));
  }

  #connect(): RedisClient {
    const { createClient, url } = this.#options;
    const client = createClient({
      url,
      RESP: 2,
      disableOfflineQueue: true,
      commandOptions: { timeout: 0 },
      socket: {
        connectTimeout: this.#deadlineMs,
        reconnectStrategy: (retries) => backoffMs({ ...RECONNECT, tries: retries + 1 }),
      },
    });
    let greeting: WheelTimer | undefined;
    client.on('connect', () => {
      greeting = this.#wheel.schedule(this.#deadlineMs, () => {
        this.#replace(client, 'no answer to the greeting');
      });
    });
    client.on('ready', () => {
      greeting?.unlink();
      if (client === this.#client) this.#find();
    });
    client.on('error', (error) => {
      greeting?.unlink();
      if (client === this.#client) this.#lose(error.message);
    });
    client.connect().catch((error: Error) => {
      if (client === this.#client) this.#lose(error.message);
    });
    return client;
  }

  #replace(client: RedisClient, problem: string): void {
    if (this.#isClosed || client !== this.#client) return;
    this.#lose(problem);
    this.#client = this.#connect();
    client.destroy();
  }

  #find(): void {
    const now = performance.now();
    const away_ms = Math.round(now - (this.#lostAt ?? now));
    this.#options.log.info({ away_ms }, 'connected to Redis');
    this.#lostAt = undefined;
    this.#readyAt = now;
    this.#link += 1;
    this.#ready.resolve();
    for (const listener of this.#readyListeners) listener();
  }

  #lose(problem: string): void {
    if (this.#isClosed) return;
    this.#problem = problem;
    if (this.#lostAt !== undefined) return;
    this.#options.log.warn({ problem }, 'lost the connection to Redis');
    this.#lostAt = performance.now();
    this.#ready = Promise.withResolvers();
  }

  async #untilReady(): Promise<void> {
    if (this.#isClosed) throw unavailableFailure('the store is closed');
    const left = (this.#lostAt ?? performance.now()) + this.#deadlineMs - performance.now();
    if (left <= 0) throw unavailableFailure(this.#problem);
    const late = Promise.withResolvers<never>();
    const timer = this.#wheel.schedule(left, () => late.reject(unavailableFailure(this.#problem)));
    try {
      await Promise.race([this.#ready.promise, late.promise]);
    } finally {
      timer.unlink();
    }
  }
}

/** What Redis says of itself that coordination depends on. */
interface ServerInfo {
  readonly version: string;
  /** Which keys it drops when it is full, if it may drop any. */
  readonly eviction: string | undefined;
}

const OLDEST_REDIS = 7;

export async function readServerInfo(connection: RedisConnection): Promise<ServerInfo> {
  const info = await connection.send<string>(['INFO']);
  const field = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  const policy = field('maxmemory_policy');
  const isBounded = Number(field('maxmemory') ?? 0) > 0;
  const mayEvict = isBounded && policy !== undefined && policy !== 'noeviction';
  return { version: field('redis_version') ?? '0', eviction: mayEvict ? policy : undefined };
}

export function assertVersion({ version }: ServerInfo): void {
  if (Number.parseInt(version, 10) >= OLDEST_REDIS) return;
  throw failure('engine_too_old', { version });
}

export function warningsOf({ eviction }: ServerInfo): readonly StoreWarning[] {
  if (eviction === undefined) return [];
  return [
    {
      problem: `Redis drops sessions, locks and answers when it is full: its maxmemory-policy is ${eviction}`,
      fix: 'set maxmemory-policy noeviction in Redis',
    },
  ];
}

/** States in which Redis answers, but does nothing. */
const UNABLE =
  /^(LOADING|OOM|MISCONF|BUSY|NOREPLICAS|MASTERDOWN|CLUSTERDOWN|UNBLOCKED|ERR max number of clients)\b/;
/** States that do not pass by themselves: an operator has to set something up. */
const MUST_BE_SET_UP = [
  {
    pattern: /^(NOAUTH|WRONGPASS)\b|^ERR (AUTH|invalid password)/,
    fix: 'give the user and the password of Redis in coordination.url, as env:NAME or file:PATH of redis://user:password@host:port',
  },
  {
    pattern: /^NOPERM\b|The user executing the script can't/,
    fix: 'allow the user of coordination.url all keys starloom:coordination:* and the commands on them: ACL SETUSER <user> ~starloom:coordination:* +@all -@admin',
  },
  {
    pattern: /^READONLY\b/,
    fix: 'name the primary in coordination.url: this Redis is a replica',
  },
] as const;
const FIXES = [
  { pattern: /^OOM\b/, fix: 'give Redis more memory (maxmemory), or end sessions' },
  { pattern: /^MISCONF\b/, fix: 'let Redis save again: its log says why it cannot' },
  { pattern: /^NOREPLICAS\b/, fix: 'bring back the replicas that min-replicas-to-write asks for' },
  {
    pattern: /^ERR max number of clients\b/,
    fix: 'let Redis serve two connections per gateway (maxclients)',
  },
  ...MUST_BE_SET_UP,
];

function unavailableFailure(problem: string, cause?: unknown): FabricError {
  const fix = FIXES.find(({ pattern }) => pattern.test(problem))?.fix;
  return failure('engine_unavailable/redis', { problem, fix }, { cause });
}

/** An unknown script is for the caller to send again; any other refusal is a mistake of ours. */
function toEngineError(error: Error): Error {
  const { message } = error;
  if (UNABLE.test(message) || mustBeSetUp(message)) return unavailableFailure(message, error);
  if (message.startsWith('NOSCRIPT')) return error;
  const isReply = /^[A-Z]+ /.test(message);
  return isReply ? FabricError.from(error) : unavailableFailure(message, error);
}

export function mustBeSetUp(problem: string): boolean {
  return MUST_BE_SET_UP.some(({ pattern }) => pattern.test(problem));
}

/** What was a primary is a replica now: its name may lead to another one. */
function isReplica({ message }: Error): boolean {
  return message.startsWith('READONLY');
}
