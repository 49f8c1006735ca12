import { normalName, sha256Hex } from '@starloom/core';

const MAX_LENGTH = 64;
const HASH_DIGITS = 8;

/** The name of a tool as every client accepts it: `fs:read_file` is listed as `fs.read_file`. */
export function toListedName(name: string): string {
  const listed = normalName(name).replace(/[^A-Za-z0-9_.-]/g, '_');
  if (listed.length <= MAX_LENGTH) return listed;
  const hash = sha256Hex(name).slice(0, HASH_DIGITS);
  return `${listed.slice(0, MAX_LENGTH - HASH_DIGITS - 1)}-${hash}`;
}
