// The commands about shared keys of the gateway. They work on the state folder: a gateway that runs
// follows the change within a second.

import { revealText } from '@starloom/config';
import { FabricError, silentLog, TRUST_TIERS, type TrustTier } from '@starloom/core';
import { loadGatewayConfig } from '@starloom/gateway/config';
import {
  type CreatedKey,
  createKey,
  filesOf,
  type KeyRecord,
  listKeys,
  revokeKey,
  rotateKey,
  rotateSigningKey,
  scopeProblem,
  shareRevocations,
  stateOf,
} from '@starloom/identity';
import type { Command } from 'commander';
import { action, examples, type GlobalOptions, toDurationMs } from '../command-line.ts';
import { toSafeJson } from '../plain-text.ts';
import { toUsageError } from '../report-error.ts';
import { identityFolder, makeStateFolder } from '../state-folder.ts';
import { table } from '../table.ts';
import type { Terminal } from '../terminal.ts';

interface KeysCreateOptions extends GlobalOptions {
  readonly principal?: string;
  readonly scope: readonly string[];
  readonly tier: string;
  readonly expires?: number;
}

interface KeysRotateOptions extends GlobalOptions {
  readonly signing?: true;
  readonly atOnce?: true;
  readonly overlap: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;

export function define(keys: Command, terminal: Terminal): void {
  keys
    .command('list', { isDefault: true })
    .description('list keys; the keys themselves are not kept')
    .action(action(terminal, () => listSharedKeys));
  keys
    .command('create')
    .description('make a key of 256 random bits; it is shown once')
    .argument('<key_id>', 'name of the key, in logs and for these commands')
    .option('--principal <name>', 'who a caller with this key is; the id of the key by default')
    .option('--scope <scope...>', 'what it may use: agent:…, capability:agent/name, toolset:…', [
      '*',
    ])
    .option('--tier <tier>', 'how far the caller is trusted: local, org, partner, public', 'org')
    .option('--expires <time>', 'after this time it is refused, such as 90d or 12h', toDurationMs)
    .addHelpText(
      'before',
      examples(
        ['starloom keys create ci --scope agent:coder', 'for callers of one agent'],
        ['starloom keys create bob --tier partner --expires 30d', 'for a guest'],
      ),
    )
    .action(action(terminal, () => createSharedKey));
  keys
    .command('rotate')
    .description('make a key that replaces another one; both are valid for a while')
    .argument('[key_id]')
    .option('--signing', 'replace the key that signs passports and mandates instead')
    .option('--at-once', 'with --signing: refuse everything that older keys signed')
    .option('--overlap <time>', 'how long the old key stays valid', toDurationMs, DAY_MS)
    .action(action(terminal, () => rotateSharedKey));
  keys
    .command('revoke')
    .description('refuse a key from now on, on open connections too')
    .argument('<key_id>')
    .action(action(terminal, () => revokeSharedKey));
}

export async function listSharedKeys(terminal: Terminal, { json }: GlobalOptions): Promise<void> {
  const records = await listKeys(await identityFolderOf(terminal));
  const now = Date.now();
  if (json) return terminal.print(toSafeJson({ keys: records.map((one) => toView(one, now)) }));
  if (records.length === 0) return terminal.tell('no keys; make one with "starloom keys create"');
  const rows = records.map((record) => [
    record.key_id,
    stateOf(record, now),
    record.principal,
    record.tier,
    record.scopes.join(' '),
    record.expires_at ?? 'never',
  ]);
  terminal.print(
    table(['KEY', 'STATE', 'PRINCIPAL', 'TIER', 'SCOPES', 'EXPIRES'], rows, terminal.columns),
  );
}

async function createSharedKey(
  terminal: Terminal,
  keyId: string,
  options: KeysCreateOptions,
): Promise<void> {
  const { principal = keyId, scope, tier, expires, json } = options;
  assertScopes(scope);
  const now = Date.now();
  const created = await createKey(
    await identityFolderOf(terminal),
    {
      keyId,
      principal,
      tier: toTier(tier),
      scopes: scope,
      ...(expires !== undefined && { expiresAt: now + expires }),
    },
    now,
  );
  showOnce(terminal, created, json === true);
}

async function rotateSharedKey(
  terminal: Terminal,
  keyId: string | undefined,
  options: KeysRotateOptions,
): Promise<void> {
  const { overlap, json } = options;
  const folder = await identityFolderOf(terminal);
  if (options.signing) return await replaceSigningKey(terminal, folder, options);
  if (keyId === undefined) throw toUsageError('which key?', 'name a key, or pass --signing');
  const rotated = await rotateKey(folder, keyId, { overlapMs: overlap, now: Date.now() });
  showOnce(terminal, rotated, json === true);
  if (!json) terminal.tell(`the key "${keyId}" is valid until ${rotated.old.expires_at}`);
}

async function replaceSigningKey(terminal: Terminal, folder: string, options: KeysRotateOptions) {
  const atOnce = options.atOnce === true;
  const { kid, use_from } = await rotateSigningKey(folder, { now: Date.now(), atOnce });
  if (!options.json) terminal.tell(`the signing key ${kid} takes over at ${use_from}`);
  const sharing = atOnce ? await shareNow(terminal, folder, options) : {};
  if (options.json) terminal.print(toSafeJson({ kid, use_from, ...sharing }));
}

async function revokeSharedKey(
  terminal: Terminal,
  keyId: string,
  options: GlobalOptions,
): Promise<void> {
  const now = Date.now();
  const folder = await identityFolderOf(terminal);
  const revoked = await revokeKey(folder, keyId, now);
  if (!options.json) {
    terminal.tell(`the key "${keyId}" is revoked; a gateway that runs refuses it at once`);
  }
  const sharing = await shareNow(terminal, folder, options);
  if (options.json) terminal.print(toSafeJson({ ...toView(revoked, now), ...sharing }));
}

/** The key alone goes to stdout, so that a script can take it. */
function showOnce(terminal: Terminal, { key, record }: CreatedKey, json: boolean): void {
  if (json) {
    terminal.print(toSafeJson({ key, ...toView(record, Date.now()) }));
    return;
  }
  terminal.tell(`key "${record.key_id}" of ${record.principal}; it is not shown again:`);
  terminal.print(key);
}

function toView(record: KeyRecord, now: number) {
  const { key_hash: _, ...shown } = record;
  return { ...shown, state: stateOf(record, now) };
}

export async function identityFolderOf({ env }: Terminal): Promise<string> {
  return identityFolder(await makeStateFolder(env));
}

export function toTier(text: string): TrustTier {
  const tier = TRUST_TIERS.find((known) => known === text);
  if (tier) return tier;
  throw toUsageError(`"${text}" is no tier`, `choose one of ${TRUST_TIERS.join(', ')}`);
}

export function assertScopes(scopes: readonly string[]): void {
  for (const scope of scopes) {
    const problem = scopeProblem(scope);
    if (problem !== undefined) throw toUsageError(`"${scope}" is no scope`, problem);
  }
}

// What a command revoked in the state folder, given to the gateways with other folders at once. Where
// that fails the gateway of this folder does it later.

interface Sharing {
  /** Whether the store has it; absent where the gateway shares no store. */
  readonly shared?: boolean;
  /** Why it does not. */
  readonly problem?: string;
}

/** Never fails: what was revoked holds in the state folder in any case. */
export async function shareNow(
  terminal: Terminal,
  folder: string,
  { config: path, json }: GlobalOptions,
): Promise<Sharing> {
  try {
    const { env, cwd } = terminal;
    const { coordination } = (await loadGatewayConfig({ path, env, cwd })).value;
    if (coordination.kind !== 'redis') return {};
    await share(revealText(coordination.url), folder);
    if (!json) terminal.tell('gateways that share the coordination store are notified');
    return { shared: true };
  } catch (thrown) {
    const { message: problem } = FabricError.from(thrown);
    if (!json) {
      terminal.tell(`not shared with gateways that have another state folder: ${problem}`);
      terminal.tell('the gateway of this state folder shares it when it reaches the store again');
    }
    return { shared: false, problem };
  }
}

async function share(url: string, folder: string): Promise<void> {
  const { openStore, toRealmStore } = await import('@starloom/coordination');
  const log = silentLog;
  const store = await openStore({ kind: 'redis', url }, { log });
  try {
    const realm = toRealmStore(store);
    await shareRevocations({ realm, files: filesOf(folder), now: Date.now(), log });
  } finally {
    await store.close();
  }
}
