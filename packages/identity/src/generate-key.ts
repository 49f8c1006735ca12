import { hash, randomBytes } from 'node:crypto';

/** How our keys begin, so that scanners and people recognise one that got loose. */
export const KEY_PREFIX = 'slk_';

const KEY_BYTES = 32;

/** A new shared key of 256 random bits. */
export function generateKey(): string {
  return KEY_PREFIX + randomBytes(KEY_BYTES).toString('base64url');
}

/**
 * The form in which a key is stored: SHA-256, hex. Enough for keys of `generateKey`, whose bits
 * cannot be guessed; a key that a person thought up must not be stored so.
 */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}
