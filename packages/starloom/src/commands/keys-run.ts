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
import type { GlobalOptions } from '../global-options.ts';
import { toSafeJson } from '../plain-text.ts';
import { toUsageError } from '../report-error.ts';
import { identityFolder, makeStateFolder } from '../state-folder.ts';
import { table } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import type { KeysCreateOptions, KeysRotateOptions } from './keys.ts';
import { shareNow } from './share-now.ts';

export async function listSharedKeys(terminal: Terminal, { json }: GlobalOptions): Promise<void> {
  const records = await listKeys(await folderOf(terminal));
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

export async function createSharedKey(
  terminal: Terminal,
  keyId: string,
  options: KeysCreateOptions,
): Promise<void> {
  const { principal = keyId, scope, tier, expires, json } = options;
  assertScopes(scope);
  const now = Date.now();
  const created = await createKey(
    await folderOf(terminal),
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

export async function rotateSharedKey(
  terminal: Terminal,
  keyId: string | undefined,
  options: KeysRotateOptions,
): Promise<void> {
  const { overlap, json } = options;
  const folder = await folderOf(terminal);
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

export async function revokeSharedKey(
  terminal: Terminal,
  keyId: string,
  options: GlobalOptions,
): Promise<void> {
  const now = Date.now();
  const folder = await folderOf(terminal);
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

async function folderOf({ env }: Terminal): Promise<string> {
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
