import type { KeyObject } from 'node:crypto';

/** How JOSE names what a key signs with; `undefined` for keys that we do not sign with. */
export function signingAlgorithm(key: KeyObject): 'EdDSA' | 'ES256' | undefined {
  if (key.asymmetricKeyType === 'ed25519') return 'EdDSA';
  const isP256 = key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  return isP256 ? 'ES256' : undefined;
}
