// All SQL of the registry. Writes of many agents at once are one transaction with one NOTIFY; heartbeats
// change leases alone, and notify no one.

import { randomUUID } from 'node:crypto';
import {
  type HealthEntry,
  type InstanceEntry,
  type InstanceEpoch,
  type Registrant,
  skeletonOf,
} from '@starloom/core';
import type { Database, DatabaseSession } from '@starloom/wire/postgres';
import { CHANNEL, SCHEMA } from './migrations.ts';
import {
  agentOf,
  type Decided,
  decide,
  type Held,
  type Operation,
  type Outcome,
} from './operations.ts';
import type { InstanceRow, InstanceRows } from './rows.ts';

export interface FeedPosition {
  readonly revision: number;
  /** Of that revision: after a restore from a backup another one may have its number. */
  readonly token: string;
}

export interface Written {
  readonly outcomes: readonly Outcome[];
  /** Where the feed was before; the changes of this batch follow. */
  readonly before: number;
  readonly after: FeedPosition | undefined;
  readonly agents: ReadonlyMap<string, readonly InstanceEntry[]>;
}

interface FeedPage {
  readonly agentIds: readonly string[];
  readonly position: FeedPosition;
  readonly isLast: boolean;
}

export interface HealthRow extends Omit<HealthEntry, 'at'> {
  readonly agent_id: string;
  readonly at: number;
}

const MAX_FEED_PAGE = 1_000;
const MAX_LOAD_PAGE = 2_000;
const MAX_EXPIRED = 1_000;

/** Ends with "WHERE …". */
const SELECT_INSTANCES = `SELECT i.*, d.body AS definition, d.mac AS definition_mac
  FROM ${SCHEMA}.instance i
  LEFT JOIN ${SCHEMA}.definition d ON d.agent_id = i.agent_id AND d.digest = i.digest`;

export class RegistryStore {
  readonly #database: Database;
  readonly #rows: InstanceRows;

  constructor(database: Database, rows: InstanceRows) {
    this.#database = database;
    this.#rows = rows;
  }

  async write(operations: readonly Operation[], now: number): Promise<Written> {
    return await this.#database.transact(async (session) => {
      const [head] = await session.query(`SELECT revision FROM ${SCHEMA}.head FOR UPDATE`);
      const before = Number(head?.revision);
      const held = await this.#lock(session, operations);
      const decided = decide(operations, held, { revision: before, now });
      const { outcomes } = decided;
      if (decided.changes.length === 0) {
        return { outcomes, before, after: undefined, agents: new Map() };
      }
      await this.#put(session, decided);
      await removeLeft(session, decided);
      const after = { revision: decided.revision, token: randomUUID() };
      await addChanges(session, decided, after.token, now);
      const agents = new Map(
        decided.changes.map(({ agent_id }) => {
          const entries = held.instances.get(agent_id) ?? [];
          return [agent_id, entries.map((entry) => this.#rows.withHold(entry))];
        }),
      );
      return { outcomes, before, after, agents };
    });
  }

  /** The instances of some agents as they are now; none for agents that are gone. */
  async load(agentIds: readonly string[]): Promise<Map<string, readonly InstanceEntry[]>> {
    const sql = `${SELECT_INSTANCES} WHERE i.agent_id = ANY($1)`;
    const rows = await this.#database.query(sql, [agentIds]);
    const found = new Map<string, InstanceEntry[]>(agentIds.map((id) => [id, []]));
    for (const entry of this.#toEntries(rows)) found.get(entry.manifest.agent_id)?.push(entry);
    return found;
  }

  /** Everything as it was at one moment. */
  async loadAll(): Promise<{ entries: readonly InstanceEntry[]; position: FeedPosition }> {
    return await this.#database.transact(async (session) => {
      await session.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      const [head] = await session.query(
        `SELECT revision, token FROM ${SCHEMA}.change ORDER BY revision DESC LIMIT 1`,
      );
      const entries: InstanceEntry[] = [];
      let after: readonly [string, string] = ['', ''];
      for (;;) {
        const rows = await session.query(
          `${SELECT_INSTANCES} WHERE (i.agent_id, i.node_id) > ($1, $2)
           ORDER BY i.agent_id, i.node_id LIMIT ${MAX_LOAD_PAGE}`,
          [...after],
        );
        entries.push(...this.#toEntries(rows));
        const last = rows.at(-1);
        if (!last || rows.length < MAX_LOAD_PAGE) break;
        after = [String(last.agent_id), String(last.node_id)];
      }
      const position = { revision: Number(head?.revision), token: String(head?.token) };
      return { entries, position };
    });
  }

  /** The next changes; `undefined` when everything must be read again. */
  async changesSince({ revision, token }: FeedPosition): Promise<FeedPage | undefined> {
    const [own, ...changes] = await this.#database.query(
      `SELECT revision, token, agent_id FROM ${SCHEMA}.change WHERE revision >= $1
       ORDER BY revision LIMIT ${MAX_FEED_PAGE + 1}`,
      [revision],
    );
    if (Number(own?.revision) !== revision || own?.token !== token) return undefined;
    const last = changes.at(-1) ?? own;
    return {
      agentIds: [...new Set(changes.map(({ agent_id }) => String(agent_id)))],
      position: { revision: Number(last.revision), token: String(last.token) },
      isLast: changes.length < MAX_FEED_PAGE,
    };
  }

  /** When each lease runs out then; `undefined` for one that has ended, or is not the principal's. */
  async renew(
    leases: readonly { readonly instance: InstanceEpoch; readonly by: Registrant }[],
    now: number,
  ): Promise<readonly (number | undefined)[]> {
    const wanted = leases.map(({ instance: { agent_id, node_id, epoch }, by }, index) => {
      return { index, agent_id, node_id, epoch, owner: by.isOperator ? null : by.principal };
    });
    const rows = await this.#database.query(
      `WITH wanted AS (
         SELECT i.agent_id, i.node_id, w.index FROM ${SCHEMA}.instance i
         JOIN json_to_recordset($1::json)
           AS w(index integer, agent_id text, node_id text, epoch bigint, owner text)
           ON i.agent_id = w.agent_id AND i.node_id = w.node_id AND i.epoch = w.epoch
         WHERE i.state <> 'expired' AND (w.owner IS NULL OR i.owner = w.owner)
         ORDER BY i.agent_id, i.node_id FOR UPDATE OF i
       )
       UPDATE ${SCHEMA}.instance i SET expires_at = $2::bigint + i.lease_ms FROM wanted
       WHERE i.agent_id = wanted.agent_id AND i.node_id = wanted.node_id
       RETURNING wanted.index, $2::bigint + coalesce(i.lease_ms, 0) AS expires_at`,
      [JSON.stringify(wanted), now],
    );
    const renewed = new Map(rows.map((row) => [Number(row.index), Number(row.expires_at)]));
    return leases.map((_, index) => renewed.get(index));
  }

  async expired(now: number): Promise<readonly InstanceEpoch[]> {
    const rows = await this.#database.query(
      `SELECT agent_id, node_id, epoch FROM ${SCHEMA}.instance WHERE expires_at <= $1
       ORDER BY expires_at LIMIT ${MAX_EXPIRED}`,
      [now],
    );
    return rows.map(({ agent_id, node_id, epoch }) => {
      return { agent_id: String(agent_id), node_id: String(node_id), epoch: Number(epoch) };
    });
  }

  async addHealth(rows: readonly HealthRow[]): Promise<void> {
    await this.#database.query(
      `INSERT INTO ${SCHEMA}.health SELECT * FROM json_populate_recordset(NULL::${SCHEMA}.health, $1)`,
      [JSON.stringify(rows)],
    );
  }

  async history(agentId: string, limit: number): Promise<readonly HealthEntry[]> {
    const rows = await this.#database.query(
      `SELECT at, node_id, status, reason, message, latency_ms, seen_by FROM ${SCHEMA}.health
       WHERE agent_id = $1 ORDER BY at DESC LIMIT $2`,
      [agentId, limit],
    );
    return rows.map((row) => {
      const known = Object.entries(row).filter(([, value]) => value !== null);
      const at = new Date(Number(row.at)).toISOString();
      return { ...Object.fromEntries(known), at } as HealthEntry;
    });
  }

  /** Forgets history, old changes and the names of agents that were removed long ago. */
  async purge(before: number, changesKept: number): Promise<void> {
    await this.#database.query(`DELETE FROM ${SCHEMA}.health WHERE at < $1`, [before]);
    await this.#database.query(`DELETE FROM ${SCHEMA}.agent WHERE removed_at < $1`, [before]);
    await this.#database.query(
      `DELETE FROM ${SCHEMA}.change
       WHERE revision < (SELECT revision FROM ${SCHEMA}.head) - $1::bigint AND at < $2`,
      [changesKept, before],
    );
  }

  /** Locks the rows of the agents, so that no heartbeat comes between. */
  async #lock(session: DatabaseSession, operations: readonly Operation[]): Promise<Held> {
    const ids = [...new Set(operations.map(agentOf))];
    const skeletons = [...new Set(ids.map(skeletonOf))];
    const rows = await session.query(
      `${SELECT_INSTANCES} WHERE i.agent_id = ANY($1) ORDER BY i.agent_id, i.node_id FOR UPDATE OF i`,
      [ids],
    );
    const agents = await session.query(
      `SELECT agent_id, skeleton, removed_at FROM ${SCHEMA}.agent WHERE agent_id = ANY($1)
       UNION SELECT agent_id, skeleton, removed_at FROM ${SCHEMA}.agent WHERE skeleton = ANY($2)`,
      [ids, skeletons],
    );
    const instances = Map.groupBy(this.#toEntries(rows), ({ manifest }) => manifest.agent_id);
    const gone = agents.filter(({ removed_at }) => removed_at !== null);
    const there = agents.filter(({ removed_at }) => removed_at === null);
    return {
      instances,
      removed: new Set(gone.map(({ agent_id }) => String(agent_id))),
      names: new Map(there.map(({ agent_id, skeleton }) => [String(skeleton), String(agent_id)])),
    };
  }

  async #put(session: DatabaseSession, { written, added }: Decided): Promise<void> {
    if (added.length > 0) {
      const agents = added.map((agent_id) => ({ agent_id, skeleton: skeletonOf(agent_id) }));
      await session.query(
        `INSERT INTO ${SCHEMA}.agent
         SELECT * FROM json_populate_recordset(NULL::${SCHEMA}.agent, $1)
         ON CONFLICT (agent_id) DO UPDATE SET removed_at = NULL WHERE agent.removed_at IS NOT NULL`,
        [JSON.stringify(agents)],
      );
    }
    if (written.length === 0) return;
    const definitions = new Map(
      written.map((entry) => {
        const definition = this.#rows.toDefinition(entry);
        return [`${definition.agent_id} ${definition.digest}`, definition];
      }),
    );
    await session.query(
      `INSERT INTO ${SCHEMA}.definition
       SELECT * FROM json_populate_recordset(NULL::${SCHEMA}.definition, $1)
       ON CONFLICT (agent_id, digest) DO UPDATE SET body = excluded.body, mac = excluded.mac,
         capabilities = excluded.capabilities, tags = excluded.tags, tier = excluded.tier
       WHERE definition.mac <> excluded.mac`,
      [JSON.stringify([...definitions.values()])],
    );
    await session.query(
      `INSERT INTO ${SCHEMA}.instance
       SELECT * FROM json_populate_recordset(NULL::${SCHEMA}.instance, $1)
       ON CONFLICT (agent_id, node_id) DO UPDATE SET digest = excluded.digest, body = excluded.body,
         owner = excluded.owner, state = excluded.state, epoch = excluded.epoch,
         lease_ms = excluded.lease_ms, expires_at = excluded.expires_at,
         revision = excluded.revision, mac = excluded.mac`,
      [JSON.stringify(written.map((entry) => this.#rows.toRow(entry)))],
    );
  }

  #toEntries(rows: readonly unknown[]): InstanceEntry[] {
    const entries = rows.flatMap((row) => this.#rows.toEntry(row as InstanceRow) ?? []);
    this.#rows.forgetBodies();
    return entries;
  }
}

/** Instances that are gone, definitions without instances, and the names of agents without either. */
async function removeLeft(session: DatabaseSession, decided: Decided): Promise<void> {
  const { changes, left, removed, gone } = decided;
  if (decided.isOnlyNew) return;
  const ids = [...new Set(changes.map(({ agent_id }) => agent_id))];
  if (gone.length > 0) {
    await session.query(
      `DELETE FROM ${SCHEMA}.instance i USING json_to_recordset($1::json)
         AS gone(agent_id text, node_id text)
       WHERE i.agent_id = gone.agent_id AND (i.node_id = gone.node_id OR i.agent_id = ANY($2))`,
      [JSON.stringify(gone), [...left, ...removed]],
    );
  }
  await session.query(
    `DELETE FROM ${SCHEMA}.definition d WHERE agent_id = ANY($1) AND NOT EXISTS (
       SELECT 1 FROM ${SCHEMA}.instance i WHERE i.agent_id = d.agent_id AND i.digest = d.digest)`,
    [ids],
  );
  if (left.length > 0) {
    await session.query(`DELETE FROM ${SCHEMA}.agent WHERE agent_id = ANY($1)`, [left]);
  }
  if (removed.length > 0) {
    await session.query(
      `UPDATE ${SCHEMA}.agent SET removed_at = extract(epoch FROM now()) * 1000
       WHERE agent_id = ANY($1)`,
      [removed],
    );
  }
}

async function addChanges(
  session: DatabaseSession,
  { changes, revision }: Decided,
  token: string,
  at: number,
): Promise<void> {
  const rows = changes.map((change) => ({ ...change, token, at }));
  await session.query(
    `INSERT INTO ${SCHEMA}.change SELECT * FROM json_populate_recordset(NULL::${SCHEMA}.change, $1)`,
    [JSON.stringify(rows)],
  );
  await session.query(
    `WITH moved AS (UPDATE ${SCHEMA}.head SET revision = $1 RETURNING revision)
     SELECT pg_notify('${CHANNEL}', revision::text) FROM moved`,
    [revision],
  );
}
