// One size of the registry: agents are registered, read back, looked up and changed, each beside the plain
// statement of the same database.

import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Manifest, manifestSchema, silentLog } from '@starloom/core';
import { openPostgresRegistry, type PostgresRegistry } from '@starloom/registry';
import { openDatabase } from '@starloom/testkit';
import { type Database, DatabaseClock, Notifications } from '@starloom/wire/postgres';
import { quantile, round } from '../statistics.ts';

export interface StepFigures {
  readonly agents: number;
  readonly registrations_per_second: number;
  readonly raw_inserts_per_second: number;
  readonly cold_load_ms: number;
  readonly raw_select_all_ms: number;
  readonly bytes_per_manifest: number;
  readonly memory_per_manifest: number;
  readonly lookup_us: number;
  readonly raw_lookup_us: number;
  readonly page_us: number;
  readonly raw_page_us: number;
}

export interface ChangeFigures {
  readonly visible_p50_ms: number;
  readonly visible_p99_ms: number;
  readonly notify_p50_ms: number;
  readonly notify_p99_ms: number;
}

const KEY = Buffer.alloc(32, 7);
const RULES = { commands: [], secrets: [] };
const OWNER = { principal: 'bench', isOperator: true };
const AT_ONCE = 2_000;
const PAGE = 50;

/** Three capabilities with schemas, of a thousand names. */
export function agentAt(index: number): Manifest {
  return manifestSchema.parse({
    agent_id: `agent-${index}`,
    description: `The agent with the number ${index}`,
    endpoint: { transport: 'http', uri: `http://10.0.0.1:8000/agents/${index}/mcp` },
    capabilities: [0, 1, 2].map((n) => ({
      name: `work.${(index * 7 + n * 331) % 1_000}`,
      description: 'Does a piece of work and says how it went',
      input_schema: {
        type: 'object',
        properties: { task: { type: 'string' }, limit: { type: 'integer', minimum: 1 } },
        required: ['task'],
      },
    })),
    trust_tier: index % 3 === 0 ? 'org' : 'partner',
    tags: [`team-${index % 100}`],
  });
}

export async function openBenchRegistry(url: string): Promise<PostgresRegistry> {
  return await openPostgresRegistry({ url, realmKey: KEY, rules: RULES, log: silentLog });
}

export async function measureStep(
  url: string,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<StepFigures> {
  const registrations = await register(url, from, to, signal);
  const database = await openDatabase(url);
  try {
    const before = await heapUsed();
    const began = performance.now();
    const registry = await openBenchRegistry(url);
    const loadMs = performance.now() - began;
    // Every record is made once, as calls make them.
    for (const record of registry.list()) registry.get(record.manifest.agent_id);
    const bytes = (await heapUsed()) - before;
    const sample = Array.from({ length: 1_000 }, (_, n) => JSON.stringify(agentAt(n)).length);
    const manifestBytes = sample.reduce((a, b) => a + b, 0) / sample.length;
    const figures = {
      agents: to,
      registrations_per_second: round(registrations, 0),
      raw_inserts_per_second: round(await rawInserts(database, to), 0),
      cold_load_ms: round(loadMs, 0),
      raw_select_all_ms: round(await rawSelectAll(database), 0),
      bytes_per_manifest: round(manifestBytes, 0),
      memory_per_manifest: round(bytes / to / manifestBytes, 2),
      ...(await measureLookups(registry, database)),
    };
    await registry.close();
    return figures;
  } finally {
    await database.close();
  }
}

/** From the first to the last acknowledged one, per second. */
async function register(
  url: string,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<number> {
  const registry = await openBenchRegistry(url);
  const manifests = Array.from({ length: to - from }, (_, n) => agentAt(from + n));
  const began = performance.now();
  for (let at = 0; at < manifests.length; at += AT_ONCE) {
    signal.throwIfAborted();
    const batch = manifests.slice(at, at + AT_ONCE);
    await Promise.all(batch.map((each) => registry.registrar.register(each, OWNER)));
  }
  const seconds = (performance.now() - began) / 1_000;
  await registry.close();
  return manifests.length / seconds;
}

/** The same documents as rows of one table with the same index, 500 in each statement. */
async function rawInserts(database: Database, count: number): Promise<number> {
  await database.query(`DROP TABLE IF EXISTS raw_agent;
    CREATE TABLE raw_agent (agent_id text PRIMARY KEY, body text, capabilities text[]);
    CREATE INDEX ON raw_agent USING gin (capabilities)`);
  const rows = Array.from({ length: Math.min(count, 20_000) }, (_, n) => {
    const manifest = agentAt(n);
    const capabilities = manifest.capabilities?.map(({ name }) => name);
    return { agent_id: manifest.agent_id, body: JSON.stringify(manifest), capabilities };
  });
  const began = performance.now();
  for (let at = 0; at < rows.length; at += 500) {
    await database.query(
      'INSERT INTO raw_agent SELECT * FROM json_populate_recordset(NULL::raw_agent, $1)',
      [JSON.stringify(rows.slice(at, at + 500))],
    );
  }
  const seconds = (performance.now() - began) / 1_000;
  await database.query('DROP TABLE raw_agent');
  return rows.length / seconds;
}

async function rawSelectAll(database: Database): Promise<number> {
  const began = performance.now();
  const rows = await database.query(
    `SELECT i.*, d.body AS definition FROM starloom_registry.instance i
     JOIN starloom_registry.definition d USING (agent_id, digest)`,
  );
  for (const row of rows) JSON.parse(String(row.definition));
  return performance.now() - began;
}

async function measureLookups(registry: PostgresRegistry, database: Database) {
  const names = Array.from({ length: 200 }, (_, n) => `work.${(n * 13) % 1_000}`);
  const filters = Array.from({ length: 200 }, (_, n) => ({
    tag: `team-${n % 100}`,
    tier: 'org' as const,
  }));
  const at = 'starloom_registry.definition';
  await database.query('ANALYZE');
  return {
    lookup_us: await perItem(names, async (name) => registry.findByCapability(name)),
    raw_lookup_us: await perItem(names, (name) =>
      database.query(`SELECT body FROM ${at} WHERE capabilities @> ARRAY[$1]`, [name]),
    ),
    page_us: await perItem(filters, async (filter) => registry.list(filter).slice(0, PAGE)),
    raw_page_us: await perItem(filters, ({ tag, tier }) =>
      database.query(
        `SELECT body FROM ${at} WHERE tags @> ARRAY[$1] AND tier = $2 ORDER BY agent_id LIMIT ${PAGE}`,
        [tag, tier],
      ),
    ),
  };
}

/** Microseconds, the median. */
async function perItem<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<number> {
  for (const item of items.slice(0, 20)) await work(item);
  const times: number[] = [];
  for (const item of items) {
    const began = performance.now();
    await work(item);
    times.push((performance.now() - began) * 1_000);
  }
  return round(quantile(times, 0.5) ?? 0, 1);
}

/** A change at one gateway until another one serves it, beside a NOTIFY that nothing follows. */
export async function measureChanges(url: string, count: number): Promise<ChangeFigures> {
  const [one, two] = await Promise.all([openBenchRegistry(url), openBenchRegistry(url)]);
  const visible: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const manifest = { ...agentAt(n % 100), tags: [`change-${n}`] };
    const seen = Promise.withResolvers<void>();
    const stop = two.watch(({ agentIds }) => {
      if (agentIds.includes(manifest.agent_id)) seen.resolve();
    });
    const began = performance.now();
    await Promise.all([one.registrar.register(manifest, OWNER), seen.promise]);
    visible.push(performance.now() - began);
    stop();
  }
  await Promise.all([one.close(), two.close()]);
  const notified = await measureNotify(url, count);
  return {
    visible_p50_ms: round(quantile(visible, 0.5) ?? 0, 2),
    visible_p99_ms: round(quantile(visible, 0.99) ?? 0, 2),
    notify_p50_ms: round(quantile(notified, 0.5) ?? 0, 2),
    notify_p99_ms: round(quantile(notified, 0.99) ?? 0, 2),
  };
}

async function measureNotify(url: string, count: number): Promise<number[]> {
  const database = await openDatabase(url);
  let heard = () => {};
  const notifications = await Notifications.open({
    url,
    channel: 'bench_registry',
    application: 'bench',
    time: new DatabaseClock(),
    onHint: () => heard(),
    onGap: () => {},
    onError: () => {},
  });
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const seen = Promise.withResolvers<void>();
    heard = seen.resolve;
    const began = performance.now();
    await Promise.all([database.query(`NOTIFY bench_registry, '${n}'`), seen.promise]);
    times.push(performance.now() - began);
  }
  await notifications.close();
  await database.close();
  return times;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** After what ended a moment ago was let go. */
async function heapUsed(): Promise<number> {
  await delay(200);
  for (let n = 0; n < 3; n += 1) collect();
  return process.memoryUsage().heapUsed;
}
