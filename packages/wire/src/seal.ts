// Encrypts and authenticates small texts with one key: ids that clients carry around, and what gateways
// keep in a store that others can write. A sealed text that was changed, or put into another place than
// the one it was made for, does not open.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** A key for one purpose; what is made with one purpose is worth nothing for another. */
export function deriveKey(secret: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
}

export class Seal {
  readonly #key: Buffer;

  /** 32 bytes. */
  constructor(key: Buffer) {
    this.#key = key;
  }

  /** Opens only with the same `place`. */
  seal(text: string, place = ''): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv);
    cipher.setAAD(Buffer.from(place));
    const bytes = cipher.update(text, 'utf8');
    return Buffer.concat([iv, bytes, cipher.final(), cipher.getAuthTag()]).toString('base64url');
  }

  /** `undefined` when this key did not seal it for this place. */
  open(sealed: string, place = ''): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    try {
      const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch {
      return undefined;
    }
  }
}
