import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import type { Log } from '@starloom/core';
import { closeToOthers, isDiskFull } from '@starloom/wire';

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
