// Coordination in Redis 7, shared by any number of processes: every operation is one script, so it
// happens whole and alone, and time is the server's. What was answered is as durable as Redis is
// configured to make it (`appendfsync`); its `maxmemory-policy` has to be `noeviction`.

import { FabricError, type Log } from '@starloom/core';
import type {
  Commit,
  Idempotency,
  Lease,
  CoordinationStore as Store,
  Write,
} from './coordination-store.ts';
import { type AskedEventLimits, toEventLimits } from './engine/event-log.ts';
import { underLock } from './engine/operations.ts';
import { findDeadlock, toLockView } from './locks/wait-for-graph.ts';
import {
  assertVersion,
  mustBeSetUp,
  RedisConnection,
  readServerInfo,
  warningsOf,
} from './redis/connection.ts';
import * as replies from './redis/replies.ts';
import {
  answerKey,
  BUCKETS,
  baseOf,
  bucketBase,
  createScripts,
  type KeyKind,
  keyOf,
  runScript,
  type Script,
  type Scripts,
} from './redis/script.ts';
import { StreamReader } from './redis/stream-reader.ts';
import { inBatches } from './support/in-batches.ts';

/** All processes that share the store must agree on how many events it keeps. */
export interface RedisStoreOptions extends AskedEventLimits {
  readonly url: string;
  readonly log: Log;
  /** How long an operation waits for Redis before it fails. */
  readonly deadlineMs?: number | undefined;
  /** A key that holds the time in milliseconds, for tests that let it pass. */
  readonly timeKey?: string | undefined;
}

const PARTITIONS_PER_TICK = 100;
/** Of the keys of a partition, those whose size counts. */
const KINDS: readonly KeyKind[] = ['m', 'd', 'e', 'l', 'q'];
/** Comes and goes with each check. */
const CHECKED = 'checked';

/** Throws when Redis cannot be reached, is too old, or is not set up for us to write. */
export async function openRedisStore(options: RedisStoreOptions): Promise<Store> {
  const { createClient } = await import('redis');
  const connect = () => new RedisConnection({ ...options, createClient });
  const commands = connect();
  const store = new RedisStore(commands, connect, options);
  try {
    assertVersion(await readServerInfo(commands));
    await checkOnce(store, options.log);
  } catch (error) {
    commands.close();
    throw error;
  }
  return store;
}

/** What passes by itself, such as a Redis that still loads its data, does not stop the start. */
async function checkOnce(store: RedisStore, log: Log): Promise<void> {
  try {
    for (const { problem, fix } of await store.check()) log.warn({ fix }, problem);
  } catch (thrown) {
    const error = FabricError.from(thrown);
    const problem = String(error.details.problem);
    if (mustBeSetUp(problem)) throw error;
    log.warn({ problem, fix: error.details.fix }, 'Redis cannot be written to yet');
  }
}

class RedisStore implements Store {
  readonly #commands: RedisConnection;
  readonly #connect: () => RedisConnection;
  readonly #log: Log;
  /** How many events and how many bytes of them. */
  readonly #keep: string;
  readonly #scripts: Scripts;
  #streams: StreamReader | undefined;

  constructor(
    commands: RedisConnection,
    connect: () => RedisConnection,
    { log, timeKey, ...asked }: RedisStoreOptions,
  ) {
    this.#commands = commands;
    this.#connect = connect;
    this.#log = log;
    const { keepEvents, keepEventBytes } = toEventLimits(asked);
    this.#keep = `${keepEvents} ${keepEventBytes}`;
    this.#scripts = createScripts(timeKey);
  }

  read: Store['read'] = async (partition, keys) => {
    const script = keys === undefined ? this.#scripts.readAll : this.#scripts.readKeys;
    return replies.toSnapshot(await this.#look(script, partition, 'd', keys));
  };

  events: Store['events'] = async (partition, after, limit) => {
    const args = [String(after), String(limit + 1)];
    const reply = await this.#look<replies.EventsReply>(this.#scripts.events, partition, 'e', args);
    return replies.toEventPage(reply, after, limit);
  };

  leases: Store['leases'] = async (partition, resource) =>
    replies.toLeases(await this.#list(partition, 'l', resource));

  waiting: Store['waiting'] = async (partition, resource) =>
    replies.toWaiting(await this.#list(partition, 'q', resource));

  deadlock: Store['deadlock'] = async (partition, place) => {
    const leases = await this.leases(partition);
    if (!leases.some(({ holder }) => holder === place.holder)) return undefined;
    return findDeadlock(place, toLockView(leases, await this.waiting(partition)));
  };

  commit: Store['commit'] = async (partition, commit) => {
    const { fence, idempotency } = commit;
    const args = [fence?.resource ?? '', optional(fence?.token), ...commitArguments(commit)];
    const once = { operation: 'commit', idempotency };
    return replies.toCommitResult(await this.#change(this.#scripts.commit, partition, args, once));
  };

  acquireAndCommit: Store['acquireAndCommit'] = async (partition, request, commit) => {
    const { resource, priority = 0 } = request;
    const script = this.#scripts.acquireAndCommit;
    const args = [resource, String(priority), ...commitArguments(commit)];
    const once = { operation: 'commit', idempotency: underLock(commit) };
    return replies.toLockedCommitResult(await this.#change(script, partition, args, once));
  };

  acquire: Store['acquire'] = async (partition, request) => {
    const { resource, holder, mode, ttlMs, waitMs = 0, priority = 0, idempotency } = request;
    const args = [resource, holder, mode, String(ttlMs), String(waitMs), String(priority)];
    const once = { operation: 'acquire', idempotency };
    const { acquire } = this.#scripts;
    return replies.toAcquireResult(await this.#change(acquire, partition, args, once));
  };

  renew: Store['renew'] = async (partition, { resource, token }, ttlMs) => {
    const args = [resource, String(token), String(ttlMs)];
    const reply = await this.#change<string | null>(this.#scripts.renew, partition, args);
    return reply === null ? undefined : (JSON.parse(reply) as Lease);
  };

  release: Store['release'] = async (partition, { resource, token }) => {
    const args = [resource, String(token)];
    return replies.toReleaseResult(await this.#change(this.#scripts.release, partition, args));
  };

  breakLease: Store['breakLease'] = async (partition, resource, token) => {
    const args = [resource, optional(token)];
    return replies.toReleaseResult(await this.#change(this.#scripts.breakLease, partition, args));
  };

  cancelWait: Store['cancelWait'] = async (partition, ticket) =>
    (await this.#change<number>(this.#scripts.cancelWait, partition, [ticket])) === 1;

  watch: Store['watch'] = async (partition, listener) => {
    this.#streams ??= new StreamReader({
      reader: this.#connect(),
      commands: this.#commands,
      resume: this.#scripts.resume,
      log: this.#log,
    });
    return this.#streams.watch(partition, listener);
  };

  async tick(): Promise<void> {
    await Promise.all(Array.from({ length: BUCKETS }, (_, bucket) => this.#tick(bucket)));
  }

  async check() {
    await this.commit(CHECKED, { writes: [{ kind: 'put', key: 'at', value: 1 }], event: CHECKED });
    await this.drop(CHECKED);
    this.#streams?.assertWorks();
    return warningsOf(await readServerInfo(this.#commands));
  }

  async size(partitions: readonly string[]): Promise<number> {
    const keys = partitions.flatMap((partition) => KINDS.map((kind) => keyOf(kind, partition)));
    const sizes = await inBatches(keys, (key) =>
      this.#commands.send<number | null>(['MEMORY', 'USAGE', key]),
    );
    return sizes.reduce<number>((total, bytes) => total + (bytes ?? 0), 0);
  }

  async drop(partition: string): Promise<void> {
    await this.#change(this.#scripts.drop, partition, []);
  }

  async close(): Promise<void> {
    await this.#streams?.close();
    this.#commands.close();
  }

  async #tick(bucket: number): Promise<void> {
    const base = bucketBase(bucket);
    const args = [base, this.#keep, String(PARTITIONS_PER_TICK)];
    for (let settled = PARTITIONS_PER_TICK; settled === PARTITIONS_PER_TICK; ) {
      settled = await runScript<number>(this.#commands, this.#scripts.tick, [`${base}due`], args);
    }
  }

  #change<Reply>(
    script: Script,
    partition: string,
    args: readonly string[],
    once?: { readonly operation: string; readonly idempotency: Idempotency | undefined },
  ): Promise<Reply> {
    const { operation = '', idempotency } = once ?? {};
    const keys = [keyOf('m', partition)];
    if (idempotency) keys.push(answerKey(partition, operation, idempotency.key));
    const settings = `${this.#keep} ${idempotency?.request ?? ''}`;
    const all = [baseOf(partition), settings, partition, ...args];
    return runScript(this.#commands, script, keys, all);
  }

  #list(partition: string, kind: KeyKind, resource?: string): Promise<replies.ListsReply> {
    return this.#look(
      this.#scripts.lists,
      partition,
      kind,
      resource === undefined ? [] : [resource],
    );
  }

  #look<Reply>(
    script: Script,
    partition: string,
    kind: KeyKind,
    args: readonly string[] = [],
  ): Promise<Reply> {
    return runScript(this.#commands, script, [keyOf('m', partition), keyOf(kind, partition)], args);
  }
}

/** As lua/commit.ts reads them; '' stands for what is absent. */
function commitArguments({ writes, event, ifVersion, ifKeys }: Omit<Commit, 'fence'>) {
  const expected = [...(ifKeys ?? [])].flatMap(([key, version]) => [key, String(version)]);
  return [
    optional(ifVersion),
    event === undefined ? '' : JSON.stringify(event),
    String(ifKeys?.size ?? 0),
    ...expected,
    ...writes.flatMap(writeArguments),
  ];
}

function writeArguments(write: Write): string[] {
  switch (write.kind) {
    case 'put': {
      const { key, value, ttlMs, onExpire } = write;
      const event = onExpire === undefined ? '' : JSON.stringify(onExpire);
      return ['put', key, JSON.stringify(value), optional(ttlMs), event];
    }
    case 'increment':
      return ['increment', write.key, String(write.by), '', ''];
    case 'delete':
      return ['delete', write.key, '', '', ''];
  }
}

function optional(value: number | undefined): string {
  return value === undefined ? '' : String(value);
}
