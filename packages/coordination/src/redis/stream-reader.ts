// One blocking read over the streams of all watched partitions. A new watch interrupts it through a
// stream of this process's own, so that it is never blind for longer than a round trip. Nothing is
// read on a new connection before every stream was found again: Redis may have lost writes, and
// given their ids to others. Where reading fails, watchers hear of changes all the same, but late.

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { FabricError, type Log } from '@starloom/core';
import { failure } from '../reasons.ts';
import { mustBeSetUp, type RedisConnection } from './connection.ts';
import { keyOf, runScript, type Script, wakeKey } from './script.ts';

const BLOCK_MS = 3000;
const GRACE_MS = 3000;
const COMPARE_MS = 3000;
const RETRY_MS = 100;
const WAKE_LIVES_MS = 600_000;
/** A broken connection fails one read; the reader logs more failures than that. */
const FAILURES_TOLD = 2;

type StreamReply = readonly (readonly [key: string, entries: readonly StreamEntry[]])[] | null;

export interface StreamReaderOptions {
  /** Blocks; no other component may use it. */
  readonly reader: RedisConnection;
  readonly commands: RedisConnection;
  readonly resume: Script;
  readonly log: Log;
}

export class StreamReader {
  readonly #options: StreamReaderOptions;
  /** By the key of the stream. */
  readonly #streams = new Map<string, WatchedStream>();
  readonly #wakeKey = wakeKey(randomUUID());
  #wakeId = '0-0';
  #isBlocked = false;
  /** The link of the reader on which all streams were found again. */
  #link: number | undefined;
  #comparedAt = performance.now();
  #failures = 0;
  #problem: FabricError | undefined;
  #isClosed = false;
  readonly #ended: Promise<void>;

  constructor(options: StreamReaderOptions) {
    const { reader, commands } = options;
    this.#options = options;
    commands.onReady(() => reader.renew('commands may go to another server'));
    this.#ended = this.#readAll();
  }

  async watch(partition: string, listener: Listener): Promise<() => Promise<void>> {
    const fresh = new WatchedStream(partition, this.#options.resume);
    const { key } = fresh;
    if (!this.#streams.has(key)) await fresh.resume(this.#options.commands);
    const stream = this.#streams.get(key) ?? fresh;
    const isNew = stream.listeners.size === 0;
    stream.listeners.add(listener);
    this.#streams.set(key, stream);
    if (isNew) await this.#wake();
    return async () => {
      stream.listeners.delete(listener);
      if (stream.listeners.size === 0) this.#streams.delete(key);
    };
  }

  /** Throws while watchers hear of changes late. */
  assertWorks(): void {
    if (this.#problem !== undefined) throw this.#problem;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#streams.clear();
    this.#options.reader.close();
    await this.#ended;
    await this.#options.commands.send(['DEL', this.#wakeKey]).catch(() => {});
  }

  async #readAll(): Promise<void> {
    while (!this.#isClosed) {
      try {
        if (performance.now() - this.#comparedAt >= COMPARE_MS) await this.#compare();
        await this.#deliver(await this.#readOnce());
        this.#succeed();
      } catch (error) {
        if (this.#isClosed) return;
        this.#fail(FabricError.from(error));
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
  }

  async #readOnce(): Promise<StreamReply> {
    const link = await this.#options.reader.awaitLink();
    if (link !== this.#link) await this.#resumeAll(link);
    const streams = [...this.#streams.values()];
    const keys = [this.#wakeKey, ...streams.map(({ key }) => key)];
    const ids = [this.#wakeId, ...streams.map(({ id }) => id)];
    // After a failure only to see whether it works again.
    const blockMs = this.#failures > 0 ? 1 : BLOCK_MS;
    const how = ['COUNT', '100', 'BLOCK', String(blockMs)];
    const command = ['XREAD', ...how, 'STREAMS', ...keys, ...ids];
    this.#isBlocked = true;
    try {
      return await this.#options.reader.send(command, { deadlineMs: BLOCK_MS + GRACE_MS, link });
    } finally {
      this.#isBlocked = false;
    }
  }

  async #deliver(reply: StreamReply): Promise<void> {
    for (const [key, entries] of reply ?? []) {
      if (key === this.#wakeKey) this.#wakeId = entries.at(-1)?.[0] ?? this.#wakeId;
      else await this.#streams.get(key)?.hear(entries, this.#options.commands);
    }
  }

  async #resumeAll(link: number): Promise<void> {
    const streams = [...this.#streams.values()];
    await Promise.all(streams.map((stream) => stream.resume(this.#options.commands)));
    this.#link = link;
    this.#comparedAt = performance.now();
  }

  /** A partition may vanish without a word, or the reader not see what is written. */
  async #compare(): Promise<void> {
    this.#comparedAt = performance.now();
    const streams = [...this.#streams.values()];
    await Promise.all(streams.map((stream) => stream.compare(this.#options.commands)));
  }

  #succeed(): void {
    if (this.#problem !== undefined) this.#options.log.info({}, 'reads streams of Redis again');
    this.#failures = 0;
    this.#problem = undefined;
  }

  #fail(error: FabricError): void {
    this.#failures += 1;
    if (this.#failures < FAILURES_TOLD) return;
    const isFirst = this.#problem === undefined;
    this.#problem = toReadingProblem(error);
    const { problem, fix } = this.#problem.details;
    if (isFirst) this.#options.log.warn({ problem, fix }, 'changes in Redis are noticed late');
  }

  /** If this fails, the read ends by itself before long. */
  async #wake(): Promise<void> {
    if (!this.#isBlocked) return;
    const commands = [
      ['XADD', this.#wakeKey, 'MAXLEN', '1', '*', 'wake', '1'],
      ['PEXPIRE', this.#wakeKey, String(WAKE_LIVES_MS)],
    ];
    const results = commands.map((command) => this.#options.commands.send(command));
    await Promise.all(results).catch((error) => {
      this.#options.log.debug({ err: error }, 'could not interrupt a blocking read of Redis');
    });
  }
}

function toReadingProblem(error: FabricError): FabricError {
  const problem = String(error.details.problem ?? error.message);
  const fix = mustBeSetUp(problem) ? error.details.fix : undefined;
  return failure('engine_unavailable/late', { problem, fix }, { cause: error });
}

type Listener = (version: number) => void;
export type StreamEntry = readonly [id: string, fields: readonly string[]];

/** As `lua/reads.ts` says it. */
type Position = readonly [created: string, version: string, newestId: string, newestAt: string];

const NOWHERE: Position = ['0', '0', '', ''];

/**
 * What a process knows of a stream it watches: how far it has read, and the newest event up to
 * there, by which it finds out whether Redis still has the same past.
 */
export class WatchedStream {
  readonly key: string;
  readonly listeners = new Set<Listener>();
  readonly #metaKey: string;
  readonly #resume: Script;
  #position = NOWHERE;

  constructor(partition: string, resume: Script) {
    this.key = keyOf('e', partition);
    this.#metaKey = keyOf('m', partition);
    this.#resume = resume;
  }

  /** Events after this are news. */
  get id(): string {
    const [created, version] = this.#position;
    return `${created}-${version}`;
  }

  /** These came after `id`; perhaps of a partition that was recreated meanwhile. */
  async hear(entries: readonly StreamEntry[], connection: RedisConnection): Promise<void> {
    const newest = entries.at(-1);
    if (newest === undefined) return;
    const [id, fields] = newest;
    const [created = '0', version = '0'] = id.split('-');
    const [known] = this.#position;
    if (known !== '0' && known !== created) return await this.resume(connection);
    this.#position = [created, version, id, fields[1] ?? ''];
    this.#tell();
  }

  /** Looks where the partition is now; its watchers hear of it if it is not where it was. */
  async resume(connection: RedisConnection): Promise<void> {
    const before = this.id;
    const keys = [this.#metaKey, this.key];
    this.#position = await runScript<Position>(connection, this.#resume, keys, this.#position);
    if (this.id !== before) this.#tell();
  }

  /** A look at the numbers alone; more only where they differ. */
  async compare(connection: RedisConnection): Promise<void> {
    const command = ['HMGET', this.#metaKey, 'created', 'version'];
    const [created, version] = await connection.send<(string | null)[]>(command);
    if (`${created ?? 0}-${version ?? 0}` !== this.id) await this.resume(connection);
  }

  #tell(): void {
    const version = Number(this.#position[1]);
    for (const listener of this.listeners) listener(version);
  }
}
