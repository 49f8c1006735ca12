// One blocking read over the streams of all watched partitions. A new watch interrupts it through a
// stream of this process's own, so that it is never blind for longer than a round trip. Where each
// stream was left is kept here: after a broken connection it reads on from there, or, if the
// partition is not what it was, tells its watchers to look.

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '@starloom/core';
import type { RedisConnection } from './connection.ts';
import { keyOf, wakeKey } from './keys.ts';

const BLOCK_MS = 5000;
const GRACE_MS = 3000;
const RETRY_MS = 100;
const WAKE_LIVES_MS = 600_000;

type Listener = (version: number) => void;
type StreamReply = readonly (readonly [key: string, readonly (readonly [id: string])[]])[] | null;

interface WatchedStream {
  readonly partition: string;
  readonly key: string;
  readonly listeners: Set<Listener>;
  id: string;
}

export interface StreamReaderOptions {
  /** Blocks; nobody else may use it. */
  readonly reader: RedisConnection;
  readonly commands: RedisConnection;
  readonly log: Log;
}

export class StreamReader {
  readonly #reader: RedisConnection;
  readonly #commands: RedisConnection;
  readonly #log: Log;
  /** By the key of the stream. */
  readonly #streams = new Map<string, WatchedStream>();
  readonly #wakeKey = wakeKey(randomUUID());
  #wakeId = '0-0';
  #isBlocked = false;
  #mustCompare = false;
  #isClosed = false;
  readonly #ended: Promise<void>;

  constructor({ reader, commands, log }: StreamReaderOptions) {
    this.#reader = reader;
    this.#commands = commands;
    this.#log = log;
    reader.onReady(() => {
      this.#mustCompare = true;
    });
    this.#ended = this.#readAll();
  }

  async watch(partition: string, listener: Listener): Promise<() => Promise<void>> {
    const key = keyOf('e', partition);
    const id = this.#streams.get(key)?.id ?? (await this.#position(partition));
    const stream = this.#streams.get(key) ?? { partition, key, id, listeners: new Set() };
    const isNew = stream.listeners.size === 0;
    stream.listeners.add(listener);
    this.#streams.set(key, stream);
    if (isNew) await this.#wake();
    return async () => {
      stream.listeners.delete(listener);
      if (stream.listeners.size === 0) this.#streams.delete(key);
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#streams.clear();
    this.#reader.close();
    await this.#ended;
    await this.#commands.send(['DEL', this.#wakeKey]).catch(() => {});
  }

  async #readAll(): Promise<void> {
    while (!this.#isClosed) {
      try {
        if (this.#mustCompare) await this.#compare();
        this.#deliver(await this.#readOnce());
      } catch (error) {
        if (this.#isClosed) return;
        this.#log.debug({ err: error }, 'reading streams of Redis failed; trying again');
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
  }

  async #readOnce(): Promise<StreamReply> {
    const streams = [...this.#streams.values()];
    const keys = [this.#wakeKey, ...streams.map(({ key }) => key)];
    const ids = [this.#wakeId, ...streams.map(({ id }) => id)];
    const command = [
      'XREAD',
      'COUNT',
      '100',
      'BLOCK',
      String(BLOCK_MS),
      'STREAMS',
      ...keys,
      ...ids,
    ];
    this.#isBlocked = true;
    try {
      return await this.#reader.send<StreamReply>(command, BLOCK_MS + GRACE_MS);
    } finally {
      this.#isBlocked = false;
    }
  }

  #deliver(reply: StreamReply): void {
    for (const [key, entries] of reply ?? []) {
      const id = entries.at(-1)?.[0];
      if (id === undefined) continue;
      if (key === this.#wakeKey) this.#wakeId = id;
      else this.#tell(this.#streams.get(key), id);
    }
  }

  /** After a broken connection: a partition that was dropped, or lost writes, has other ids. */
  async #compare(): Promise<void> {
    this.#mustCompare = false;
    const streams = [...this.#streams.values()];
    try {
      const ids = await Promise.all(streams.map(({ partition }) => this.#position(partition)));
      for (const [index, stream] of streams.entries()) {
        const id = ids[index];
        if (id !== undefined && id !== stream.id) this.#tell(stream, id);
      }
    } catch (error) {
      this.#mustCompare = true;
      throw error;
    }
  }

  #tell(stream: WatchedStream | undefined, id: string): void {
    if (stream === undefined) return;
    stream.id = id;
    const version = Number(id.slice(id.indexOf('-') + 1));
    for (const listener of stream.listeners) listener(version);
  }

  async #position(partition: string): Promise<string> {
    const command = ['HMGET', keyOf('m', partition), 'created', 'version'];
    const [created, version] = await this.#commands.send<(string | null)[]>(command);
    return `${created ?? 0}-${version ?? 0}`;
  }

  /** If this fails, the read ends by itself before long. */
  async #wake(): Promise<void> {
    if (!this.#isBlocked) return;
    const commands = [
      ['XADD', this.#wakeKey, 'MAXLEN', '1', '*', 'wake', '1'],
      ['PEXPIRE', this.#wakeKey, String(WAKE_LIVES_MS)],
    ];
    const results = commands.map((command) => this.#commands.send(command));
    await Promise.all(results).catch((error) => {
      this.#log.debug({ err: error }, 'could not interrupt a blocking read of Redis');
    });
  }
}
