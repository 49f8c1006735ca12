// What the gateways of one realm share: the store, and what a command changed in the state folder, given
// to the gateways with other folders at once. Where that fails the gateway of this folder does it later.

import { revealText } from '@starloom/config';
import { FabricError, type Log, silentLog, systemClock } from '@starloom/core';
import { type GatewayConfig, loadGatewayConfig } from '@starloom/gateway/config';
import { pinsFile, sharedPins } from '@starloom/gateway/pins';
import {
  changeState,
  filesOf,
  PostgresRealm,
  type Realm,
  type RealmStore,
  shareFile,
  shareIdentity,
  shareRevocations,
} from '@starloom/identity';
import type { GlobalOptions } from './command-line.ts';
import { failure } from './reasons.ts';
import { identityFolder, makeStateFolder } from './state-folder.ts';
import type { Terminal } from './terminal.ts';

export interface OpenedRealm {
  /** What all gateways reach; undefined where none is configured. */
  readonly store: RealmStore | undefined;
  /** `realm.key`; without it the gateway is a realm of its own. */
  readonly secret: Buffer | undefined;
  close(): Promise<void>;
}

/** Uses Redis where it is configured; else, with `realm.key`, the database of the registry or of jobs. */
export async function openRealm(
  config: GatewayConfig,
  redis: RealmStore | undefined,
  log: Log,
): Promise<OpenedRealm> {
  const { key } = config.realm;
  const secret = key && Buffer.from(revealText(key), 'base64url');
  const url = redis || !secret ? undefined : databaseOf(config);
  if (url === undefined) {
    if (secret && !redis) {
      const fix = 'set coordination.kind: redis, registry.kind: postgres or jobs.kind: postgres';
      log.warn({ fix }, 'realm.key is set, but the gateways share no store for keys and approvals');
    }
    return { store: redis, secret, close: async () => {} };
  }
  const onError = (error: unknown) => log.debug({ error }, 'store of the realm: connection lost');
  const store = await PostgresRealm.open({ url, onError });
  return { store, secret, close: () => store.close() };
}

function databaseOf({ registry, jobs }: GatewayConfig): string | undefined {
  if (registry.kind === 'postgres') return revealText(registry.url);
  return jobs.kind === 'postgres' ? revealText(jobs.url) : undefined;
}

/**
 * Whether the store has it now, and why it does not; nothing where the gateway shares no store. Never
 * fails: what was revoked holds in the state folder in any case.
 */
export async function shareNow(terminal: Terminal, folder: string, options: GlobalOptions) {
  const { json } = options;
  try {
    const config = await configOf(terminal, options);
    if (!(await share(config, folder, terminal))) return {};
    if (!json) terminal.tell('gateways that share the store are notified');
    return { shared: true };
  } catch (thrown) {
    const { message: problem } = FabricError.from(thrown);
    if (!json) tellNotShared(terminal, problem);
    return { shared: false, problem };
  }
}

/** Reports a change of the state folder, to people before it is shared and to programs afterwards. */
export async function shareChange(
  terminal: Terminal,
  folder: string,
  options: GlobalOptions,
  { said, value }: { readonly said: string; readonly value: object },
): Promise<void> {
  if (!options.json) terminal.tell(said);
  const sharing = await shareNow(terminal, folder, options);
  if (options.json) terminal.json({ ...value, ...sharing });
}

/** Whether the configuration names a realm; false where there is none that can be read. */
export async function hasRealm(terminal: Terminal, options: GlobalOptions): Promise<boolean> {
  const config = await configOf(terminal, options).catch(() => undefined);
  return config?.realm.key !== undefined;
}

/** Brings the state folder and the realm to the same; does nothing without `realm.key`. Never fails. */
export async function joinRealm(terminal: Terminal, options: GlobalOptions): Promise<void> {
  if (!(await hasRealm(terminal, options))) return;
  try {
    const folder = identityFolder(await makeStateFolder(terminal.env));
    await share(await configOf(terminal, options), folder, terminal);
  } catch (thrown) {
    if (!options.json) tellNotShared(terminal, FabricError.from(thrown).message);
  }
}

async function configOf({ env, cwd }: Terminal, { config: path }: GlobalOptions) {
  return (await loadGatewayConfig({ path, env, cwd })).value;
}

/** False when the gateway shares no store. */
async function share(config: GatewayConfig, folder: string, terminal: Terminal): Promise<boolean> {
  return await withRealm(config, async ({ store, secret }) => {
    if (!store) return false;
    const log = silentLog;
    await shareRevocations({ realm: store, files: filesOf(folder), now: Date.now(), log });
    if (!secret) return true;
    await shareIdentity(folder, { store, secret }, systemClock);
    const file = pinsFile(await makeStateFolder(terminal.env));
    const pins = sharedPins((edit) => changeState(file, edit));
    await shareFile({ store, secret }, pins);
    return true;
  });
}

/** BAD_INPUT where the configuration names no realm, or no store. */
export async function inRealm<T>(
  terminal: Terminal,
  options: GlobalOptions,
  use: (realm: Realm) => Promise<T>,
): Promise<T> {
  return await withRealm(await configOf(terminal, options), async ({ store, secret }) => {
    if (!store || !secret) throw failure('no_realm');
    return await use({ store, secret });
  });
}

async function withRealm<T>(
  config: GatewayConfig,
  use: (realm: Pick<OpenedRealm, 'store' | 'secret'>) => Promise<T>,
): Promise<T> {
  const log = silentLog;
  const { coordination } = config;
  const { openStore, toRealmStore } = await import('@starloom/coordination');
  const redis =
    coordination.kind === 'redis'
      ? await openStore({ kind: 'redis', url: revealText(coordination.url) }, { log })
      : undefined;
  const realm = await openRealm(config, redis && toRealmStore(redis), log);
  try {
    return await use(realm);
  } finally {
    await realm.close();
    await redis?.close();
  }
}

function tellNotShared(terminal: Terminal, problem: string): void {
  terminal.tell(`not shared with gateways that have another state folder: ${problem}`);
  terminal.tell('the gateway of this state folder shares it when it reaches the store again');
}
