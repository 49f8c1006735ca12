// What a process knows of a stream it watches: how far it has read, and the newest event up to
// there, by which it finds out whether Redis still has the same past.

import type { RedisConnection } from './connection.ts';
import { keyOf } from './keys.ts';
import { runScript, type Script } from './script.ts';

export type Listener = (version: number) => void;
export type StreamEntry = readonly [id: string, fields: readonly string[]];

/** As lua/resume.ts says it. */
type Position = readonly [created: string, version: string, newestId: string, newestAt: string];

const NOWHERE: Position = ['0', '0', '', ''];

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
