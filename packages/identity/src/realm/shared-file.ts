// Files of the state folder that all gateways of a realm have the same: what one gateway writes is in the
// files of all within a second or two. Each entry lies in the store sealed with the secret of the realm:
// what grants rights counts only when a gateway of the realm wrote it, and private keys stay private.
// The file of a gateway stays what counts there, with the store and without it; merging only adds.

import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Json, type Log, silentLog } from '@starloom/core';
import { deriveKey, Seal } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { type RealmStore, StoreFollower } from './realm-store.ts';

/** What the gateways of one realm share: a store, and the secret that no one else knows. */
export interface Realm {
  readonly store: RealmStore;
  readonly secret: Uint8Array;
}

export type SharedEntries = ReadonlyMap<string, Json>;

/** How a file is shared. `merge` and `toEntries` must agree: nothing is new after they met. */
export interface SharedFile<T> {
  /** Of its part of the store. */
  readonly name: string;
  /** What it is to people, such as "keys". */
  readonly what: string;
  change(edit: (file: T) => T | Promise<T>): Promise<T>;
  /** The file with what others wrote; the same object when there is nothing new. */
  merge(file: T, shared: SharedEntries): T | Promise<T>;
  /** What of the file the store should have; `shared` is what it has. */
  toEntries(file: T, shared: SharedEntries): SharedEntries;
}

/** Others may be faster so often, or there may be so much to write. */
const ATTEMPTS = 200;
const WRITES_AT_ONCE = 200;
const MAX_EVENTS = 500;
/** Written once: a store that lost its data counts versions from the beginning, but has another mark. */
const MARK = '@';

/** Once, for commands; the entries are those of the store afterwards. */
export async function shareFile<T>(realm: Realm, file: SharedFile<T>): Promise<SharedEntries> {
  const known = new KnownEntries(realm, file.name, silentLog);
  await known.share(file);
  return known.values;
}

/** For as long as the gateway runs; `hint` says that the file changed. */
export function followFile<T>(realm: Realm, file: SharedFile<T>, log: Log): Promise<StoreFollower> {
  const known = new KnownEntries(realm, file.name, log);
  const { what, name } = file;
  return StoreFollower.open({
    realm: realm.store,
    name,
    log,
    words: {
      away: `${what} are not shared with other gateways until the store of the realm is back`,
      back: `${what} are shared with other gateways again`,
    },
    share: () => known.share(file),
  });
}

/** The entries of one name as they were read last; only what changed is read again. */
class KnownEntries {
  readonly values = new Map<string, Json>();
  readonly #realm: Realm;
  readonly #name: string;
  readonly #log: Log;
  readonly #seal: Seal;
  readonly #versions = new Map<string, number>();
  #version: number | undefined;
  #mark: Json | undefined;

  constructor(realm: Realm, name: string, log: Log) {
    this.#realm = realm;
    this.#name = name;
    this.#log = log;
    this.#seal = new Seal(deriveKey(realm.secret, `starloom realm ${name}`));
  }

  /** The version of the store when both sides were the same. */
  async share<T>(file: SharedFile<T>): Promise<number> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const version = await this.#refresh();
      const own = await file.change((before) => file.merge(before, this.values));
      const news = [...file.toEntries(own, this.values)]
        .filter(([key, value]) => !isDeepStrictEqual(this.values.get(key), value))
        .slice(0, WRITES_AT_ONCE);
      if (news.length === 0) return version;
      const writes = news.map(([key, value]) => {
        return { kind: 'put' as const, key, value: this.#seal.seal(JSON.stringify(value), key) };
      });
      if (this.#mark === undefined) {
        writes.push({ kind: 'put', key: MARK, value: randomUUID() });
      }
      const ifKeys = new Map(writes.map(({ key }) => [key, this.#versions.get(key) ?? 0]));
      const event = { keys: writes.map(({ key }) => key) };
      await this.#realm.store.commit(this.#name, { writes, ifKeys, event });
    }
    throw failure('realm_busy');
  }

  async #refresh(): Promise<number> {
    const { store } = this.#realm;
    const mark = (await store.read(this.#name, [MARK])).entries.get(MARK)?.value;
    const page =
      this.#version === undefined || mark !== this.#mark
        ? undefined
        : await store.events(this.#name, this.#version, MAX_EVENTS);
    if (!page || page.gap || page.events.length === MAX_EVENTS) {
      const { version, entries } = await store.read(this.#name);
      this.values.clear();
      this.#versions.clear();
      this.#take(entries);
      this.#mark = entries.get(MARK)?.value;
      this.#version = version;
      return version;
    }
    const keys = new Set(page.events.flatMap(({ event }) => keysOf(event)));
    if (keys.size > 0) this.#take((await store.read(this.#name, [...keys])).entries);
    this.#version = page.cursor;
    return page.cursor;
  }

  #take(entries: Awaited<ReturnType<RealmStore['read']>>['entries']): void {
    for (const [key, { value, version }] of entries) {
      this.#versions.set(key, version);
      if (key === MARK) continue;
      const text = typeof value === 'string' ? this.#seal.open(value, key) : undefined;
      if (text !== undefined) this.values.set(key, JSON.parse(text) as Json);
      else {
        this.values.delete(key);
        const fix = 'set the same realm.key on all gateways';
        this.#log.warn({ name: this.#name, key, fix }, 'an entry is not of this realm: not used');
      }
    }
  }
}

function keysOf(event: Json): string[] {
  const { keys } = (event ?? {}) as { keys?: unknown };
  return Array.isArray(keys) ? keys.map(String) : [];
}
