import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { revealText } from '@starloom/config';
import type { Log } from '@starloom/core';
import type { GatewayConfig } from '@starloom/gateway/config';
import type { RegistryConfig } from '@starloom/registry';
import { closeToOthers, isDiskFull } from '@starloom/wire';

/** Without a realm of its own choice a gateway trusts only what it wrote itself. */
export async function toRegistryConfig(
  { registry, realm }: GatewayConfig,
  stateFolder: string | undefined,
  log: Log,
): Promise<RegistryConfig> {
  if (registry.kind !== 'postgres') return registry;
  if (realm.key === undefined) {
    const fix = 'make one with "starloom keys realm" and set it on all gateways';
    log.warn({ fix }, 'realm.key is not set: agents that other gateways register are held');
  }
  const own = () =>
    stateFolder === undefined
      ? randomBytes(BYTES)
      : readOrCreateKey(join(stateFolder, 'registry.key'), log);
  const realmKey =
    realm.key === undefined ? await own() : Buffer.from(revealText(realm.key), 'base64url');
  return { ...registry, url: revealText(registry.url), realmKey, stateFolder };
}

const BYTES = 32;

/** A secret of this gateway alone, made at its first start. */
export async function readOrCreateKey(path: string, log: Log): Promise<Buffer> {
  const known = await readFile(path).catch(() => undefined);
  if (known?.length === BYTES) {
    await closeToOthers(path);
    return known;
  }
  const key = randomBytes(BYTES);
  try {
    await writeFile(path, key, { mode: 0o600 });
  } catch (error) {
    await rm(path, { force: true });
    if (!isDiskFull(error)) throw error;
    log.error({ path }, 'the disk is full: conversations end with this process');
  }
  return key;
}
