import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type InstanceEntry,
  type Log,
  type Manifest,
  type Registry,
  silentLog,
} from '@starloom/core';
import { exampleManifest, ManualClock, registryContract } from '@starloom/core/testing';
import {
  describeWithEngine,
  emptyDatabase,
  openDatabase,
  openEngine,
  temporaryFolder,
} from '@starloom/testkit';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openPostgresRegistry, type PostgresRegistryOptions } from '../src/index.ts';

const realmKey = randomBytes(32);
const rules = { commands: [], secrets: [] };
const agent = { principal: 'agent-1', isOperator: false };
const operator = { principal: 'ops', isOperator: true };
const leaseMs = 30_000;

describeWithEngine('postgres', (postgres) => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  const open = async (url: string, change: Partial<PostgresRegistryOptions> = {}) => {
    const options = { url, realmKey, rules, log: silentLog, pollMs: 50, ...change };
    const registry = await openPostgresRegistry(options);
    closing.push(() => registry.close());
    return registry;
  };
  const look = async (url: string) => {
    const database = await openDatabase(url);
    closing.push(() => database.close());
    return database;
  };
  const twoGateways = async () => {
    const url = await emptyDatabase(postgres().url);
    const [one, two] = await Promise.all([open(url), open(url)]);
    return { url, one, two };
  };
  const nodesOf = (registry: Registry, agentId = 'subject') =>
    registry.get(agentId)?.instances.map(({ manifest, hold, state }) => {
      return `${manifest.node_id}: ${hold?.reason ?? state}`;
    });

  registryContract('postgres', async () => {
    const url = await emptyDatabase(postgres().url);
    const clock = new ManualClock();
    const registry = await openPostgresRegistry({
      ...{ url, realmKey, rules, clock, log: silentLog },
      pollMs: 20,
    });
    const advance = async (ms: number) => {
      clock.advance(ms);
      await registry.refresh();
    };
    return { registry, advance, close: async () => {} };
  });

  describe('several gateways', () => {
    it('[G18] see what one of them writes, in the order of its revisions', async () => {
      const { one, two } = await twoGateways();
      await one.register(exampleManifest({ agent_id: 'a' }));
      await two.register(exampleManifest({ agent_id: 'b' }));
      await one.registrar.register(exampleManifest({ agent_id: 'c' }), agent, { leaseMs });
      await one.registrar.remove('a', undefined, operator);
      const ids = (registry: Registry) => registry.list().map(({ manifest }) => manifest.agent_id);
      await expect.poll(() => ids(two)).toEqual(['b', 'c']);
      await expect.poll(() => ids(one)).toEqual(['b', 'c']);
      expect(two.status()).toMatchObject({ kind: 'postgres', ok: true, agents: 2, revision: 4 });
    });

    it('are notified once for a batch, and not for heartbeats', async () => {
      const { url, one, two } = await twoGateways();
      const database = await look(url);
      const manifests = Array.from({ length: 200 }, (_, index) =>
        exampleManifest({ agent_id: `agent-${index}` }),
      );
      const made = await Promise.all(
        manifests.map((each) => one.registrar.register(each, agent, { leaseMs })),
      );
      const revisions = made.map(({ revision }) => revision).sort((a, b) => a - b);
      expect(revisions).toEqual(manifests.map((_, index) => index + 1));
      await expect.poll(() => two.list().length).toBe(200);
      const changes = async () =>
        (await database.query('SELECT revision, token FROM starloom_registry.change')) as {
          token: string;
        }[];
      const before = await changes();
      expect(new Set(before.map(({ token }) => token)).size).toBeLessThan(10);
      await Promise.all(made.map((each) => one.registrar.renew(each, agent)));
      expect(await changes()).toHaveLength(before.length);
    });

    it('let one of two principals have a name', async () => {
      const { one, two } = await twoGateways();
      const other = { principal: 'agent-2', isOperator: false };
      const both = await Promise.allSettled([
        one.registrar.register(exampleManifest(), agent, { leaseMs }),
        two.registrar.register(exampleManifest(), other, { leaseMs }),
      ]);
      const lost = both.filter(({ status }) => status === 'rejected');
      expect(lost).toMatchObject([{ reason: { details: { reason: 'taken' } } }]);
    });

    it('go on when their listeners are cut off, and after the feed was shortened', async () => {
      const { url, one, two } = await twoGateways();
      const database = await look(url);
      await one.register(exampleManifest({ agent_id: 'a' }));
      await expect.poll(() => two.get('a')).toBeDefined();
      await database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = 'starloom-registry-listen' AND datname = current_database()`,
      );
      await one.register(exampleManifest({ agent_id: 'b' }));
      await database.query('DELETE FROM starloom_registry.change WHERE revision < 2');
      await one.register(exampleManifest({ agent_id: 'c' }));
      await expect.poll(() => two.list().length).toBe(3);
    });

    it('follow a database that was restored from a backup', async () => {
      const { url, one, two } = await twoGateways();
      const database = await look(url);
      await one.register(exampleManifest({ agent_id: 'kept' }));
      await one.register(exampleManifest({ agent_id: 'lost' }));
      await expect.poll(() => two.list().length).toBe(2);
      await database.query(`
        DELETE FROM starloom_registry.change WHERE revision > 1;
        DELETE FROM starloom_registry.instance WHERE agent_id = 'lost';
        DELETE FROM starloom_registry.definition WHERE agent_id = 'lost';
        DELETE FROM starloom_registry.agent WHERE agent_id = 'lost';
        UPDATE starloom_registry.head SET revision = 1;
      `);
      // Another change gets the revision that was lost.
      await one.register(exampleManifest({ agent_id: 'later' }));
      for (const registry of [one, two]) {
        await expect
          .poll(() => registry.list().map(({ manifest }) => manifest.agent_id))
          .toEqual(['kept', 'later']);
      }
    });

    it('agree on leases, however the clock of one of them is set', async () => {
      const { one, two } = await twoGateways();
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 24 * 3_600_000 });
      try {
        const { epoch } = await one.registrar.register(exampleManifest(), agent, { leaseMs });
        await two.refresh();
        expect(nodesOf(two)).toEqual(['local: active']);
        const instance = { agent_id: 'subject', node_id: 'local', epoch };
        const { expiresAt } = await two.registrar.renew(instance, agent);
        vi.useRealTimers();
        expect(Math.abs(expiresAt - leaseMs - Date.now())).toBeLessThan(60_000);
      } finally {
        vi.useRealTimers();
      }
    });
  });

  describe('a person who can write the tables', () => {
    const tamper = async (sql: string, manifest: Manifest = exampleManifest()) => {
      const { url, one, two } = await twoGateways();
      await one.registrar.register(manifest, operator);
      const database = await look(url);
      await database.query(sql);
      // A change of the table says nothing by itself: a gateway that starts sees it.
      const three = await open(url);
      return { one, two, three };
    };

    it.each([
      [
        'sends no calls elsewhere',
        `UPDATE starloom_registry.instance SET body = replace(body, '127.0.0.1', '192.0.2.1')`,
      ],
      ['takes no name over', `UPDATE starloom_registry.instance SET owner = 'mallory'`],
      [
        'raises no tier',
        `UPDATE starloom_registry.definition SET body = replace(body, '"org"', '"local"')`,
      ],
      [
        'adds no instance',
        `INSERT INTO starloom_registry.instance SELECT agent_id, 'evil', digest, body, owner, state, epoch, lease_ms, expires_at, revision, mac FROM starloom_registry.instance`,
      ],
      [
        'gives no agent another name',
        `UPDATE starloom_registry.instance SET agent_id = 'other'; UPDATE starloom_registry.definition SET agent_id = 'other'`,
      ],
    ])('%s', async (_, sql) => {
      const { three } = await tamper(sql);
      expect(three.status().held?.map(({ reason }) => reason)).toEqual(['unsigned']);
      const usable = three.list().flatMap(({ instances }) => instances.filter(({ hold }) => !hold));
      expect(usable.every(({ manifest }) => manifest.endpoint.uri?.includes('127.0.0.1'))).toBe(
        true,
      );
      expect(usable.every(({ manifest }) => manifest.node_id === 'local')).toBe(true);
    });

    it('reads no key with which gateways call an agent', async () => {
      const { url, one, two } = await twoGateways();
      const headers = { authorization: 'Bearer of-the-agent' };
      const endpoint = { transport: 'http', uri: 'http://127.0.0.1:1/', headers } as const;
      await one.register(exampleManifest({ endpoint }));
      await expect.poll(() => two.get('subject')?.manifest.endpoint).toMatchObject({ headers });
      const [before] = two.get('subject')?.instances ?? [];
      const rows = await (await look(url)).query('SELECT body FROM starloom_registry.instance');
      expect(JSON.stringify(rows)).not.toContain('of-the-agent');
      expect(JSON.stringify(rows)).toContain('127.0.0.1');
      // Read again, it is the same agent.
      const three = await open(url);
      expect(three.get('subject')?.instances[0]?.manifest).toEqual(before?.manifest);
    });

    it('gets nothing from a gateway of another realm', async () => {
      const { url, one } = await twoGateways();
      await one.register(exampleManifest());
      const stranger = await open(url, { realmKey: randomBytes(32) });
      expect(stranger.get('subject')).toBeUndefined();
      expect(stranger.status().held).toMatchObject([{ agent_id: 'subject', reason: 'unsigned' }]);
    });

    it('makes no other writer trip over an entry that it broke', async () => {
      const { one, three } = await tamper(`
        INSERT INTO starloom_registry.instance VALUES
          ('NOT an id', E'a\\nb', 'x', '{', NULL, 'strange', 1, NULL, NULL, 1, ''),
          ('odd', E'a\\nb', 'x', '{', NULL, 'strange', 1, NULL, NULL, 1, '')`);
      expect(three.get('subject')).toBeDefined();
      expect(three.status().held).toMatchObject([{ agent_id: 'odd', node_id: 'a?b' }]);
      expect(await three.registrar.remove('odd', undefined, operator)).toBe(true);
      await expect.poll(() => three.status().held).toBeUndefined();
      await one.register(exampleManifest({ agent_id: 'odd' }));
      await expect.poll(() => three.get('odd')).toBeDefined();
    });
  });

  it('holds commands and secrets that the file of this gateway does not allow', async () => {
    const url = await emptyDatabase(postgres().url);
    const one = await open(url);
    await one.register(
      exampleManifest({
        agent_id: 'program',
        endpoint: { transport: 'stdio', command: 'npx', args: ['-y', 'server-files'] },
      }),
    );
    await one.register(
      exampleManifest({
        agent_id: 'secret',
        endpoint: {
          transport: 'http',
          uri: 'https://agents.example.com',
          headers: { Authorization: 'Bearer env:GITHUB_TOKEN' },
        },
      }),
    );
    const reasons = (registry: Registry) =>
      registry.status().held?.map(({ agent_id, reason }) => `${agent_id}: ${reason}`);
    expect(reasons(one)).toEqual(['program: command', 'secret: secret']);
    const allowing = { commands: ['npx -y server-*'], secrets: ['GITHUB_*'] };
    expect(reasons(await open(url, { rules: allowing }))).toBeUndefined();
  });

  it('[G18] finds what it looks for by indexes', async () => {
    const url = await emptyDatabase(postgres().url);
    const registry = await open(url);
    const database = await look(url);
    await Promise.all(
      Array.from({ length: 3_000 }, (_, index) =>
        registry.registrar.register(
          exampleManifest({
            agent_id: `agent-${index}`,
            capabilities: [{ name: `work.${index % 500}` }],
            tags: [`tag-${index % 300}`],
          }),
          agent,
          { leaseMs },
        ),
      ),
    );
    await database.query(`
      INSERT INTO starloom_registry.health
        SELECT 'agent-' || n % 1000, 'local', n, 'online', NULL, NULL, NULL, 'test'
        FROM generate_series(1, 20000) AS n;
      ANALYZE`);
    const planOf = async (sql: string) => {
      const rows = await database.query(`EXPLAIN ${sql}`);
      return rows.map((row) => String(row['QUERY PLAN'])).join('\n');
    };
    const at = 'starloom_registry';
    const expected: [string, string][] = [
      [
        `SELECT * FROM ${at}.change WHERE revision >= 2990 ORDER BY revision LIMIT 1001`,
        'change_pkey',
      ],
      [`SELECT * FROM ${at}.instance WHERE agent_id = ANY('{agent-1,agent-2}')`, 'instance_pkey'],
      [`SELECT * FROM ${at}.instance WHERE expires_at <= 1`, 'instance_expiry'],
      [`SELECT * FROM ${at}.agent WHERE skeleton = ANY('{agentl}')`, 'agent_skeleton'],
      [
        `SELECT * FROM ${at}.health WHERE agent_id = 'agent-7' ORDER BY at DESC LIMIT 20`,
        'health_of_agent',
      ],
      [`SELECT * FROM ${at}.health WHERE at < 10`, 'health_at'],
      [
        `SELECT * FROM ${at}.definition WHERE capabilities @> '{work.7}'`,
        'definition_capabilities',
      ],
      [`SELECT * FROM ${at}.definition WHERE tags @> '{tag-7}'`, 'definition_tags'],
    ];
    for (const [sql, index] of expected) expect(await planOf(sql), sql).toContain(index);
  });

  it('forgets history that is older than it has to be kept', async () => {
    const url = await emptyDatabase(postgres().url);
    const clock = new ManualClock();
    const registry = await open(url, { clock, keepHistoryMs: 1_000 });
    await registry.register(exampleManifest());
    const checked_at = new Date(clock.now()).toISOString();
    await registry.updateHealth('subject', { status: 'online', checked_at });
    await expect.poll(async () => (await registry.registrar.history('subject', 5)).length).toBe(1);
    clock.advance(3_600_001);
    await expect.poll(async () => (await registry.registrar.history('subject', 5)).length).toBe(0);
  });

  it('makes its tables once, and refuses those that it does not know', async () => {
    const url = await emptyDatabase(postgres().url);
    await Promise.all([open(url), open(url), open(url)]);
    const database = await look(url);
    const table = 'starloom_registry.migration';
    expect(await database.query(`SELECT * FROM ${table}`)).toHaveLength(1);
    await database.query(`INSERT INTO ${table} VALUES ('9 of a later version', '')`);
    await expect(open(url)).rejects.toMatchObject({ details: { reason: 'newer_store' } });
    await database.query(`DELETE FROM ${table} WHERE name LIKE '9 %'`);
    await database.query(`UPDATE ${table} SET checksum = 'another'`);
    await expect(open(url)).rejects.toMatchObject({ details: { reason: 'migration_changed' } });
  });
});

describeWithEngine('postgres', () => {
  it('serves its last snapshot while Postgres is away, and says how old it is', async () => {
    await using engine = await openEngine('postgres');
    await using folder = await temporaryFolder();
    const url = await emptyDatabase(engine.url);
    const snapshotPath = join(folder.path, 'registry.ndjson');
    const lines: string[] = [];
    const log: Log = { ...silentLog, warn: (_, message) => void lines.push(message) };
    const options = { url, realmKey, rules, log, snapshotPath, pollMs: 50 };
    const first = await openPostgresRegistry(options);
    await first.register(exampleManifest());
    await first.registrar.register(exampleManifest({ agent_id: 'leased' }), agent, { leaseMs });
    await expect.poll(() => first.list().length, { timeout: 10_000 }).toBe(2);
    await engine.stop();
    await expect.poll(() => first.status().ok, { timeout: 10_000 }).toBe(false);
    expect(first.list()).toHaveLength(2);
    await expect(first.register(exampleManifest({ agent_id: 'new' }))).rejects.toMatchObject({
      code: 'OVERLOADED',
    });
    await first.close();

    const second = await openPostgresRegistry(options);
    expect(second.status()).toMatchObject({ ok: false, agents: 2 });
    expect(second.status().message).toMatch(/cannot be reached; the agents are those of \d+ s ago/);
    expect(lines).toContain('serving the agents of the last run');
    await engine.restart();
    await expect.poll(() => second.status().ok, { timeout: 10_000 }).toBe(true);
    const entry = second.get('leased')?.instances[0] as InstanceEntry;
    // Agents had no way to renew their leases: none has run out.
    expect(entry.state).toBe('active');
    await second.close();

    await engine.stop();
    await rm(snapshotPath);
    const third = await openPostgresRegistry(options);
    expect(third.list()).toEqual([]);
    expect(third.status().message).toContain('no agents are known');
    await third.close();
  }, 60_000);
});
