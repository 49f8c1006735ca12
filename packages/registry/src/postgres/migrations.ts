// The tables, as steps that are applied once and in order. A step that was applied is never edited: its
// checksum is kept beside it. Gateways that start at the same time apply them one after the other.

import { sha256Hex } from '@starloom/core';
import type { DatabaseSession } from '@starloom/wire/postgres';
import { failure } from '../reasons.ts';

export const SCHEMA = 'starloom_registry';
/** LISTEN and NOTIFY: the revision of the last change, as a hint. */
export const CHANNEL = 'starloom_registry';

/** Any number, the same for all gateways. */
const MIGRATION_LOCK = 7_420_160;

interface Migration {
  readonly name: string;
  readonly sql: string;
}

const MIGRATIONS: readonly Migration[] = [
  {
    name: '1 agents, their instances, changes and health',
    sql: `
-- Every write locks this row, so revisions are in the order of commits and have no gaps.
CREATE TABLE ${SCHEMA}.head (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  revision bigint NOT NULL
);
-- One row for each change. A reader that does not find its last revision with its token reads everything again.
CREATE TABLE ${SCHEMA}.change (
  revision bigint PRIMARY KEY,
  token text NOT NULL,
  agent_id text,
  at bigint NOT NULL
);
-- Names. removed_at: an operator removed the agent, and it may not register itself again.
CREATE TABLE ${SCHEMA}.agent (
  agent_id text PRIMARY KEY,
  skeleton text NOT NULL,
  removed_at bigint
);
CREATE INDEX agent_skeleton ON ${SCHEMA}.agent (skeleton);
CREATE INDEX agent_removed ON ${SCHEMA}.agent (removed_at) WHERE removed_at IS NOT NULL;
-- What all instances of an agent agree on; several while they are being updated.
CREATE TABLE ${SCHEMA}.definition (
  agent_id text NOT NULL,
  digest text NOT NULL,
  body text NOT NULL,
  capabilities text[] NOT NULL,
  tags text[] NOT NULL,
  tier text NOT NULL,
  mac text NOT NULL,
  PRIMARY KEY (agent_id, digest)
);
CREATE INDEX definition_capabilities ON ${SCHEMA}.definition USING gin (capabilities);
CREATE INDEX definition_tags ON ${SCHEMA}.definition USING gin (tags);
-- Where an agent runs. Heartbeats change expires_at alone.
CREATE TABLE ${SCHEMA}.instance (
  agent_id text NOT NULL,
  node_id text NOT NULL,
  digest text NOT NULL,
  body text NOT NULL,
  owner text,
  state text NOT NULL,
  epoch bigint NOT NULL,
  lease_ms integer,
  expires_at bigint,
  revision bigint NOT NULL,
  mac text NOT NULL,
  PRIMARY KEY (agent_id, node_id)
) WITH (fillfactor = 80);
CREATE INDEX instance_expiry ON ${SCHEMA}.instance (expires_at) WHERE expires_at IS NOT NULL;
-- Changes of health as gateways saw them.
CREATE TABLE ${SCHEMA}.health (
  agent_id text NOT NULL,
  node_id text NOT NULL,
  at bigint NOT NULL,
  status text NOT NULL,
  reason text,
  message text,
  latency_ms integer,
  seen_by text NOT NULL
);
CREATE INDEX health_of_agent ON ${SCHEMA}.health (agent_id, at DESC);
CREATE INDEX health_at ON ${SCHEMA}.health (at);
INSERT INTO ${SCHEMA}.head (revision) VALUES (0);
INSERT INTO ${SCHEMA}.change VALUES (0, gen_random_uuid()::text, NULL, 0);
`,
  },
];

/** In one transaction: afterwards the tables are those of this version, or as they were. */
export async function migrate(session: DatabaseSession): Promise<void> {
  await session.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
  await session.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`);
  await session.query(`CREATE TABLE IF NOT EXISTS ${SCHEMA}.migration (
    name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
  )`);
  const rows = await session.query(`SELECT name, checksum FROM ${SCHEMA}.migration`);
  const applied = new Map(rows.map(({ name, checksum }) => [String(name), String(checksum)]));
  for (const { name, sql } of MIGRATIONS) {
    const checksum = sha256Hex(sql);
    const known = applied.get(name);
    applied.delete(name);
    if (known === checksum) continue;
    if (known !== undefined) throw failure('migration_changed', { name });
    await session.query(sql);
    await session.query(`INSERT INTO ${SCHEMA}.migration (name, checksum) VALUES ($1, $2)`, [
      name,
      checksum,
    ]);
  }
  if (applied.size > 0) throw failure('newer_store');
}
