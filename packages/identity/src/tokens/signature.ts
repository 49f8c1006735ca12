// The signature of a compact JWS, checked on this thread. A way to the thread pool and back takes as
// long as the check itself, and far longer on a busy machine. Which key it is, and whether it is one for
// this algorithm, was decided before, when jose imported it; so was the form of the token.

import { constants, KeyObject, verify } from 'node:crypto';
import type { CryptoKey } from 'jose';

const PKCS1 = { padding: constants.RSA_PKCS1_PADDING };
const PSS = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
};
const ECDSA = { dsaEncoding: 'ieee-p1363' } as const;
const MIN_RSA_BITS = 2048;

/** By `alg`: the hash, and how the signature is written. */
const METHODS = {
  RS256: ['sha256', PKCS1],
  RS384: ['sha384', PKCS1],
  RS512: ['sha512', PKCS1],
  PS256: ['sha256', PSS],
  PS384: ['sha384', PSS],
  PS512: ['sha512', PSS],
  ES256: ['sha256', ECDSA],
  ES384: ['sha384', ECDSA],
  ES512: ['sha512', ECDSA],
  EdDSA: [null, {}],
  Ed25519: [null, {}],
} as const;

/** No `none` and no shared secrets: a server that can verify those can also sign. */
export const SIGNATURE_ALGORITHMS = Object.keys(METHODS) as (keyof typeof METHODS)[];

/** From a key that jose imported for its algorithm; `undefined` for one that is too weak. */
export function toVerifyingKey(key: CryptoKey): KeyObject | undefined {
  const object = KeyObject.from(key);
  const { modulusLength = MIN_RSA_BITS } = object.asymmetricKeyDetails ?? {};
  return modulusLength < MIN_RSA_BITS ? undefined : object;
}

export function isSigned(token: string, algorithm: string, key: KeyObject): boolean {
  if (!isKnown(algorithm)) return false;
  const [hash, options] = METHODS[algorithm];
  const end = token.lastIndexOf('.');
  const signed = Buffer.from(token.slice(0, end), 'latin1');
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  return verify(hash, signed, { key, ...options }, signature);
}

function isKnown(algorithm: string): algorithm is keyof typeof METHODS {
  return Object.hasOwn(METHODS, algorithm);
}
