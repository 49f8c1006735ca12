// Agents in Postgres, for any number of gateways. Calls read the directory alone; the database feeds it by
// revisions, and a NOTIFY only says that it is time to look. While the database is away the directory
// stays as it was, and `status` says how old it is.

import { hostname } from 'node:os';
import {
  type Clock,
  DirectoryReads,
  FabricError,
  type Health,
  instanceKey,
  type Log,
  type Manifest,
  type Registrar,
  type Registry,
  type RegistryStatus,
} from '@starloom/core';
import { Database, DatabaseClock, Notifications } from '@starloom/wire/postgres';
import { CHANNEL, migrate } from './postgres/migrations.ts';
import { PostgresRegistrar } from './postgres/registrar.ts';
import { InstanceRows } from './postgres/rows.ts';
import { readSnapshot, writeSnapshot } from './postgres/snapshot.ts';
import {
  type FeedPosition,
  type HealthRow,
  RegistryStore,
  type Written,
} from './postgres/store.ts';
import type { SharedRules } from './shared-rules.ts';

export interface PostgresRegistryOptions {
  readonly url: string;
  /** The secret of the realm: entries of gateways with another one are held. */
  readonly realmKey: Uint8Array;
  readonly rules: SharedRules;
  readonly log: Log;
  /** The file for starts while the database is away; without it such a start knows no agents. */
  readonly snapshotPath?: string | undefined;
  /** How this gateway is named in the history of health. */
  readonly seenBy?: string;
  /** Instead of the time of the database. */
  readonly clock?: Clock;
  /** How often it looks for changes and leases that ran out, without any hint. */
  readonly pollMs?: number;
  readonly keepHistoryMs?: number;
}

const POLL_MS = 1_000;
const KEEP_HISTORY_MS = 7 * 24 * 3_600_000;
const PURGE_EVERY_MS = 3_600_000;
const MAX_CHANGES_KEPT = 100_000;
/** Changes of health that wait for the database; more are lost, the oldest first. */
const MAX_HEALTH_WAITING = 10_000;
const SNAPSHOT_EVERY_MS = 30_000;
/** After the database was away, agents have this long to renew their leases before any runs out. */
const GRACE_MS = 30_000;
const MAX_WARNED = 20;

export async function openPostgresRegistry(
  options: PostgresRegistryOptions,
): Promise<PostgresRegistry> {
  const onError = (error: unknown) =>
    options.log.debug({ error }, 'registry database: connection lost');
  const database = await Database.open({
    url: options.url,
    what: 'registry database',
    application: 'starloom-registry',
    maxConnections: 4,
    onError,
  });
  const registry = new PostgresRegistry(database, options);
  try {
    await registry.start();
    return registry;
  } catch (error) {
    await registry.close();
    throw error;
  }
}

export class PostgresRegistry extends DirectoryReads implements Registry {
  readonly registrar: Registrar;
  readonly #options: PostgresRegistryOptions;
  readonly #database: Database;
  readonly #store: RegistryStore;
  readonly #clock: Clock;
  readonly #time = new DatabaseClock();
  readonly #writes: PostgresRegistrar;
  #notifications: Notifications | undefined;
  #position: FeedPosition | undefined;
  #isMigrated = false;
  #asOf = '';
  #failure: FabricError | undefined;
  /** Leases may run out from then on, on the monotonic clock. */
  #sweepFrom = 0;
  #pulling: Promise<void> | undefined;
  #isHinted = false;
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> | undefined;
  #purgeAt = 0;
  #health: HealthRow[] = [];
  #isSnapshotDue = false;
  #snapshotAt = 0;
  #isClosed = false;

  constructor(database: Database, options: PostgresRegistryOptions) {
    super();
    this.#options = options;
    this.#database = database;
    this.#clock = options.clock ?? this.#time;
    this.#store = new RegistryStore(database, new InstanceRows(options.realmKey, options.rules));
    this.#writes = new PostgresRegistrar({
      store: this.#store,
      clock: this.#clock,
      ready: () => this.#ready(),
      onWritten: (written) => this.#written(written),
      noteExpired: (agentId, nodeId) => this.noteHealth(agentId, nodeId, LEASE_RAN_OUT),
    });
    this.registrar = this.#writes;
  }

  /** Resolves with the agents of the database, or while it is away with those of the last run. */
  async start(): Promise<void> {
    this.#notifications = Notifications.start({
      url: this.#options.url,
      channel: CHANNEL,
      application: 'starloom-registry-listen',
      time: this.#time,
      onHint: () => void this.#hinted(),
      onGap: () => void this.#hinted(),
      onError: () => {},
    });
    try {
      await this.#pull();
    } catch (thrown) {
      const error = FabricError.from(thrown);
      if (error.details.reason !== 'engine_unavailable') throw error;
      this.#lost(error);
      await this.#restore();
    }
    this.#tickLater();
  }

  async register(manifest: Manifest): Promise<void> {
    await this.registrar.register(manifest, { principal: 'local', isOperator: true });
  }

  status(): RegistryStatus {
    const status = {
      kind: 'postgres',
      ok: this.#failure === undefined,
      as_of: this.#asOf,
      ...(this.#position && { revision: this.#position.revision }),
      ...this.statusOf(),
    };
    if (!this.#failure) return status;
    const age = Math.round((Date.now() - Date.parse(this.#asOf)) / 1_000);
    const known = `the agents are those of ${age} s ago`;
    const serving = this.#asOf === '' ? 'no agents are known' : known;
    return { ...status, message: `${this.#failure.message}; ${serving}` };
  }

  /** Looks for changes and ends leases that ran out, now. */
  async refresh(): Promise<void> {
    await this.#pull();
    await this.#writes.sweep();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#notifications?.close();
    await this.#ticking;
    await this.#writes.idle();
    await this.#pulling?.catch(() => {});
    if (!this.#failure) await this.#flushHealth().catch(() => {});
    await this.#snapshot(true);
    await this.#database.close();
  }

  protected override noteHealth(agent_id: string, node_id: string, health: Health): void {
    const { status, reason, message, latency_ms } = health;
    this.#health.push({
      agent_id,
      node_id,
      at: this.#clock.now(),
      status,
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message: message.replaceAll('\0', '').slice(0, 1_000) }),
      ...(latency_ms !== undefined && { latency_ms: Math.round(latency_ms) }),
      seen_by: this.#options.seenBy ?? hostname(),
    });
    if (this.#health.length > MAX_HEALTH_WAITING) this.#health.shift();
  }

  async #ready(): Promise<void> {
    if (this.#isMigrated) return;
    await this.#database.transact(migrate);
    this.#isMigrated = true;
  }

  /** Coalesced: a hint that comes while changes are read makes them be read once more. */
  async #hinted(): Promise<void> {
    if (this.#isHinted || this.#isClosed) return;
    this.#isHinted = true;
    await this.#pulling?.catch(() => {});
    this.#isHinted = false;
    await this.#pull().catch((error: unknown) => this.#lost(FabricError.from(error)));
  }

  #pull(): Promise<void> {
    this.#pulling ??= this.#pullChanges().finally(() => {
      this.#pulling = undefined;
    });
    return this.#pulling;
  }

  async #pullChanges(): Promise<void> {
    await this.#ready();
    for (let isLast = false; !isLast; ) {
      const known = this.#position;
      const page = known && (await this.#store.changesSince(known));
      if (!page) {
        await this.#reload(known);
        break;
      }
      isLast = page.isLast;
      if (page.agentIds.length === 0) continue;
      const agents = await this.#store.load(page.agentIds);
      // Own writes are applied as they are committed; what is older than they are must not undo them.
      if (this.#position !== known) continue;
      this.#apply(agents, page.position);
    }
    this.#reached();
  }

  async #reload(known: FeedPosition | undefined): Promise<void> {
    const { entries, position } = await this.#store.loadAll();
    if (known && this.#position !== known) return;
    const cut = 'the feed of changes was cut: all agents were read again';
    if (known) this.#options.log.warn({ known, position }, cut);
    const changed = this.directory.replaceAll(entries);
    this.#position = position;
    this.#isSnapshotDue = true;
    this.#warnOfHeld(changed);
  }

  #apply(agents: Parameters<typeof this.directory.apply>[0], position: FeedPosition): void {
    this.#position = position;
    this.#isSnapshotDue = true;
    this.#warnOfHeld(this.directory.apply(agents));
  }

  /** Applies an own write at once where nothing lies between; else the feed is read. */
  async #written({ before, after, agents }: Written): Promise<void> {
    if (!after) return;
    if (this.#position?.revision === before) this.#apply(agents, after);
    else {
      await this.#pulling?.catch(() => {});
      if ((this.#position?.revision ?? -1) < after.revision) await this.#pull();
    }
  }

  #reached(): void {
    this.#asOf = new Date(Date.now()).toISOString();
    if (!this.#failure) return;
    this.#failure = undefined;
    this.#sweepFrom = this.#clock.monotonic() + GRACE_MS;
    this.#options.log.info({ agents: this.directory.size }, 'the registry database is back');
  }

  #lost(error: FabricError): void {
    if (!this.#failure) this.#options.log.error({ error }, 'the registry database cannot be read');
    this.#failure = error;
  }

  #tickLater(): void {
    if (this.#isClosed) return;
    const { pollMs = POLL_MS } = this.#options;
    const jitter = 0.5 + Math.random();
    this.#timer = setTimeout(() => {
      this.#ticking = this.#tick().then(() => this.#tickLater());
    }, pollMs * jitter);
    this.#timer.unref();
  }

  /** Never rejects. */
  async #tick(): Promise<void> {
    try {
      await this.#pull();
      if (this.#clock.monotonic() >= this.#sweepFrom) await this.#writes.sweep();
      await this.#flushHealth();
      await this.#purge();
    } catch (error) {
      this.#lost(FabricError.from(error));
    }
    await this.#snapshot(false);
  }

  async #flushHealth(): Promise<void> {
    const waiting = this.#health;
    if (waiting.length === 0) return;
    this.#health = [];
    try {
      await this.#store.addHealth(waiting);
    } catch (error) {
      this.#health = [...waiting, ...this.#health].slice(-MAX_HEALTH_WAITING);
      throw error;
    }
  }

  async #purge(): Promise<void> {
    const now = this.#clock.monotonic();
    if (now < this.#purgeAt) return;
    this.#purgeAt = now + PURGE_EVERY_MS;
    const { keepHistoryMs = KEEP_HISTORY_MS } = this.#options;
    await this.#store.purge(this.#clock.now() - keepHistoryMs, MAX_CHANGES_KEPT);
  }

  async #restore(): Promise<void> {
    const { snapshotPath, log } = this.#options;
    const snapshot = snapshotPath === undefined ? undefined : await readSnapshot(snapshotPath);
    if (!snapshot) return;
    this.directory.replaceAll(snapshot.entries);
    this.#position = snapshot.position;
    this.#asOf = snapshot.asOf;
    const facts = { agents: this.directory.size, as_of: snapshot.asOf };
    log.warn(facts, 'serving the agents of the last run');
  }

  async #snapshot(isLast: boolean): Promise<void> {
    const { snapshotPath, log } = this.#options;
    const now = performance.now();
    const position = this.#position;
    if (snapshotPath === undefined || !position || !this.#isSnapshotDue) return;
    if (!isLast && now < this.#snapshotAt) return;
    this.#isSnapshotDue = false;
    const entries = this.directory.entries();
    await writeSnapshot(snapshotPath, { asOf: this.#asOf, position, entries }).catch((error) =>
      log.warn({ error: FabricError.from(error) }, 'the snapshot of the agents was not written'),
    );
    this.#snapshotAt = performance.now() + SNAPSHOT_EVERY_MS;
  }

  #warnOfHeld(agentIds: readonly string[]): void {
    const held = this.directory.heldInstances(agentIds);
    if (held.length === 0) return;
    const shown = held
      .slice(0, MAX_WARNED)
      .map(({ manifest, hold }) => `${instanceKey(manifest)}: ${hold.reason}`);
    const count = held.length;
    this.#options.log.warn({ held: shown, count }, 'instances are held, and take no calls');
  }
}

const LEASE_RAN_OUT: Health = Object.freeze({
  status: 'offline',
  checked_at: null,
  reason: 'lease_expired',
});
