// The store of a realm in Postgres, for gateways that have no Redis. Its tables are in a schema of their
// own, so that gateways of other versions do not mind them. Commits of one name take turns by its row.

import type { Json } from '@starloom/core';
import {
  Database,
  DatabaseClock,
  type DatabaseSession,
  Notifications,
} from '@starloom/wire/postgres';
import type { RealmEntry, RealmSnapshot, RealmStore } from './realm-store.ts';

interface PostgresRealmOptions {
  readonly url: string;
  readonly onError: (error: unknown) => void;
}

const SCHEMA = 'starloom_realm';
const CHANNEL = 'starloom_realm';
/** Any number, the same for all gateways. */
const CREATE_LOCK = 7_420_170;
const KEEP_EVENTS_MS = 600_000;
const COMMITS_PER_PURGE = 200;
const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

const TABLES = `
CREATE SCHEMA IF NOT EXISTS ${SCHEMA};
CREATE TABLE IF NOT EXISTS ${SCHEMA}.head (name text PRIMARY KEY, version bigint NOT NULL);
CREATE TABLE IF NOT EXISTS ${SCHEMA}.entry (
  name text NOT NULL, key text NOT NULL, value text NOT NULL, version bigint NOT NULL,
  expires_at bigint, PRIMARY KEY (name, key)
);
CREATE INDEX IF NOT EXISTS entry_expiry ON ${SCHEMA}.entry (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS ${SCHEMA}.event (
  name text NOT NULL, version bigint NOT NULL, at bigint NOT NULL, event text NOT NULL,
  PRIMARY KEY (name, version)
);
CREATE INDEX IF NOT EXISTS event_at ON ${SCHEMA}.event (at);
`;

export class PostgresRealm implements RealmStore {
  readonly #database: Database;
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #notifications: Notifications;
  #isReady = false;
  #commits = 0;

  private constructor(database: Database, { url }: PostgresRealmOptions) {
    this.#database = database;
    const tell = (listeners: Iterable<() => void>) => {
      for (const listener of [...listeners]) listener();
    };
    this.#notifications = Notifications.start({
      url,
      channel: CHANNEL,
      application: 'starloom-realm-listen',
      time: new DatabaseClock(),
      onHint: (name) => tell(this.#listeners.get(name) ?? []),
      onGap: () => {
        for (const listeners of this.#listeners.values()) tell(listeners);
      },
      onError: () => {},
    });
  }

  /** Connects with the first operation. */
  static async open(options: PostgresRealmOptions): Promise<PostgresRealm> {
    const { url, onError } = options;
    const what = 'store of the realm';
    const names = { what, application: 'starloom-realm', maxConnections: 3 };
    return new PostgresRealm(await Database.open({ url, onError, ...names }), options);
  }

  async read(name: string, keys?: readonly string[]): Promise<RealmSnapshot> {
    await this.#ready();
    return await readAt(this.#database, name, keys);
  }

  async commit(...[name, commit]: Parameters<RealmStore['commit']>) {
    await this.#ready();
    const { writes, event, ifKeys = new Map<string, number>() } = commit;
    this.#commits += 1;
    if (this.#commits % COMMITS_PER_PURGE === 0) await this.#purge();
    return await this.#database.transact(async (session) => {
      await session.query(
        `INSERT INTO ${SCHEMA}.head VALUES ($1, 0) ON CONFLICT (name) DO NOTHING`,
        [name],
      );
      const [head] = await session.query(
        `SELECT version FROM ${SCHEMA}.head WHERE name = $1 FOR UPDATE`,
        [name],
      );
      if (ifKeys.size > 0) {
        const current = await readAt(session, name, [...ifKeys.keys()]);
        const isOther = ([key, version]: [string, number]) =>
          (current.entries.get(key)?.version ?? 0) !== version;
        if ([...ifKeys].some(isOther)) return { ok: false, reason: 'conflict', current } as const;
      }
      const version = Number(head?.version) + 1;
      const rows = writes.map(({ key, value, ttlMs = null }) => {
        return { key, value: JSON.stringify(value), ttl: ttlMs === null ? null : Math.ceil(ttlMs) };
      });
      await session.query(
        `INSERT INTO ${SCHEMA}.entry
         SELECT $1, key, value, $2, ${NOW} + ttl FROM json_to_recordset($3::json)
           AS row(key text, value text, ttl bigint)
         ON CONFLICT (name, key) DO UPDATE SET value = excluded.value, version = excluded.version,
           expires_at = excluded.expires_at`,
        [name, version, JSON.stringify(rows)],
      );
      await session.query(`UPDATE ${SCHEMA}.head SET version = $2 WHERE name = $1`, [
        name,
        version,
      ]);
      if (event !== undefined) {
        await session.query(
          `WITH said AS (INSERT INTO ${SCHEMA}.event VALUES ($1, $2, ${NOW}, $3))
           SELECT pg_notify('${CHANNEL}', $1)`,
          [name, version, JSON.stringify(event)],
        );
      }
      return { ok: true, version } as const;
    });
  }

  async watch(name: string, listener: () => void): Promise<() => Promise<void>> {
    await this.#ready();
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    return async () => void listeners.delete(listener);
  }

  async events(name: string, after: number, limit: number) {
    await this.#ready();
    const [head] = await this.#database.query(
      `SELECT version, (SELECT min(version) FROM ${SCHEMA}.event WHERE name = $1) AS oldest
       FROM ${SCHEMA}.head WHERE name = $1`,
      [name],
    );
    const version = Number(head?.version ?? 0);
    const rows = await this.#database.query(
      `SELECT version, event FROM ${SCHEMA}.event WHERE name = $1 AND version > $2
       ORDER BY version LIMIT $3`,
      [name, after, limit],
    );
    const events = rows.map((row) => ({
      version: Number(row.version),
      event: JSON.parse(String(row.event)) as Json,
    }));
    const oldest = head?.oldest == null ? version + 1 : Number(head.oldest);
    const gap = after > version || (after < version && oldest > after + 1);
    const last = events.at(-1)?.version ?? 0;
    return { events, cursor: events.length < limit ? Math.max(version, last) : last, gap };
  }

  async close(): Promise<void> {
    await this.#notifications.close();
    await this.#database.close();
  }

  async #ready(): Promise<void> {
    if (this.#isReady) return;
    await this.#database.transact(async (session) => {
      await session.query('SELECT pg_advisory_xact_lock($1)', [CREATE_LOCK]);
      await session.query(TABLES);
    });
    this.#isReady = true;
  }

  async #purge(): Promise<void> {
    await this.#database.query(`DELETE FROM ${SCHEMA}.entry WHERE expires_at <= ${NOW}`);
    const old = `${NOW} - ${KEEP_EVENTS_MS}`;
    await this.#database.query(`DELETE FROM ${SCHEMA}.event WHERE at < ${old}`);
  }
}

async function readAt(
  session: DatabaseSession,
  name: string,
  keys: readonly string[] | undefined,
): Promise<RealmSnapshot> {
  const rows = await session.query(
    `SELECT h.version AS head, e.key, e.value, e.version FROM ${SCHEMA}.head h
     LEFT JOIN ${SCHEMA}.entry e ON e.name = h.name AND ($2::text[] IS NULL OR e.key = ANY($2))
       AND (e.expires_at IS NULL OR e.expires_at > ${NOW})
     WHERE h.name = $1`,
    [name, keys ?? null],
  );
  const entries = new Map<string, RealmEntry>();
  for (const { key, value, version } of rows) {
    if (key === null) continue;
    const parsed = JSON.parse(String(value)) as Json;
    entries.set(String(key), { value: parsed, version: Number(version) });
  }
  return { version: Number(rows[0]?.head ?? 0), entries };
}
