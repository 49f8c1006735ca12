import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';

const BYTES = 32;

/** A secret of this gateway alone, made at its first start. */
export async function readOrCreateKey(path: string): Promise<Buffer> {
  const known = await readFile(path).catch(() => undefined);
  if (known?.length === BYTES) return known;
  const key = randomBytes(BYTES);
  await writeFile(path, key, { mode: 0o600 });
  return key;
}
