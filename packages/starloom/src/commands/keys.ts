// The commands about shared keys of the gateway. They work on the state folder: a gateway that runs
// follows the change within a second.

import { randomBytes } from 'node:crypto';
import { TRUST_TIERS, type TrustTier } from '@starloom/core';
import {
  type CreatedKey,
  createKey,
  type KeyRecord,
  listKeys,
  revokeKey,
  rotateKey,
  rotateSigningKey,
  scopeProblem,
  stateOf,
} from '@starloom/identity';
import type { Command } from 'commander';
import { action, type GlobalOptions, toDurationMs, withExamples } from '../command-line.ts';
import { joinRealm, shareChange, shareNow } from '../realm.ts';
import { toUsageError } from '../report-error.ts';
import { identityFolder, makeStateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { table } from '../terminal-text.ts';

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
  withExamples(keys.command('create'), [
    ['starloom keys create ci --scope agent:coder', 'for callers of one agent'],
    ['starloom keys create bob --tier partner --expires 30d', 'for a guest'],
  ])
    .description('make a key of 256 random bits; it is shown once')
    .argument('<key_id>', 'name of the key, in logs and for these commands')
    .option('--principal <name>', 'who a caller with this key is; the id of the key by default')
    .option('--scope <scope...>', 'what it may use: agent:…, capability:agent/name, toolset:…', [
      '*',
    ])
    .option('--tier <tier>', 'how far the caller is trusted: local, org, partner, public', 'org')
    .option('--expires <time>', 'after this time it is refused, such as 90d or 12h', toDurationMs)
    .action(action(terminal, () => createSharedKey));
  keys
    .command('realm')
    .description('make the secret that gateways of a fleet share: realm.key')
    .action(action(terminal, () => createRealmKey));
  keys
    .command('rotate')
    .description('make a key that replaces another; both are valid for a while')
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
  if (json) return terminal.json({ keys: records.map((one) => toView(one, now)) });
  if (records.length === 0) return terminal.tell('no keys; make one with "starloom keys create"');
  const rows = records.map((record) => [
    record.key_id,
    stateOf(record, now),
    record.principal,
    record.tier,
    record.scopes.join(' '),
    record.expires_at ?? 'never',
  ]);
  const head = ['KEY', 'STATE', 'PRINCIPAL', 'TIER', 'SCOPES', 'EXPIRES'];
  terminal.print(table(head, rows, terminal.columns));
}

async function createSharedKey(terminal: Terminal, keyId: string, options: KeysCreateOptions) {
  const { principal = keyId, scope, tier, expires, json } = options;
  assertScopes(scope);
  const now = Date.now();
  // Before, so that no two keys of the realm have one name; afterwards, so that all gateways take it.
  await joinRealm(terminal, options);
  const grant = { keyId, principal, tier: toTier(tier), scopes: scope };
  const end = expires !== undefined && { expiresAt: now + expires };
  const created = await createKey(await identityFolderOf(terminal), { ...grant, ...end }, now);
  await joinRealm(terminal, options);
  showOnce(terminal, created, json);
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
  await joinRealm(terminal, options);
  const rotated = await rotateKey(folder, keyId, { overlapMs: overlap, now: Date.now() });
  await joinRealm(terminal, options);
  showOnce(terminal, rotated, json);
  if (!json) terminal.tell(`the key "${keyId}" is valid until ${rotated.old.expires_at}`);
}

async function replaceSigningKey(terminal: Terminal, folder: string, options: KeysRotateOptions) {
  const atOnce = options.atOnce === true;
  const { kid, use_from } = await rotateSigningKey(folder, { now: Date.now(), atOnce });
  if (!options.json) terminal.tell(`the signing key ${kid} takes over at ${use_from}`);
  const sharing = atOnce ? await shareNow(terminal, folder, options) : {};
  if (options.json) terminal.json({ kid, use_from, ...sharing });
}

async function revokeSharedKey(terminal: Terminal, keyId: string, options: GlobalOptions) {
  const now = Date.now();
  const folder = await identityFolderOf(terminal);
  const revoked = await revokeKey(folder, keyId, now);
  const said = `the key "${keyId}" is revoked; a gateway that runs refuses it at once`;
  await shareChange(terminal, folder, options, { said, value: toView(revoked, now) });
}

/** The key alone goes to stdout, so that a script can take it. */
function showOnce(terminal: Terminal, { key, record }: CreatedKey, json = false) {
  if (json) return terminal.json({ key, ...toView(record, Date.now()) });
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

/** Shown once; the operator gives it to every gateway as a variable or a file. */
async function createRealmKey(terminal: Terminal, { json }: GlobalOptions): Promise<void> {
  const key = randomBytes(32).toString('base64url');
  if (json) return terminal.json({ key });
  terminal.print(key);
  terminal.tell('give it to every gateway of the fleet, and write realm: {key: env:NAME} there');
}
