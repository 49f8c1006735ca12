import { createPrivateKey, type JsonWebKey, type KeyObject } from 'node:crypto';

export interface SigningKey {
  readonly jwk: JsonWebKey;
  /** That it can sign with, the usual one first. */
  readonly algorithms: readonly [string, ...string[]];
}

const RSA = ['RS256', 'PS256', 'RS384', 'PS384', 'RS512', 'PS512'] as const;
const MIN_RSA_BITS = 2048;
const CURVES: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** From PEM of any form; `undefined` for what signs no JWT. */
export function readSigningKey(pem: string): SigningKey | undefined {
  try {
    const key = createPrivateKey(pem);
    const algorithms = algorithmsOf(key);
    return algorithms && { jwk: key.export({ format: 'jwk' }), algorithms };
  } catch {
    return undefined;
  }
}

function algorithmsOf(key: KeyObject): SigningKey['algorithms'] | undefined {
  const { namedCurve = '', modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return modulusLength < MIN_RSA_BITS ? undefined : RSA;
    case 'ed25519':
      return ['EdDSA', 'Ed25519'];
    case 'ec': {
      const algorithm = CURVES[namedCurve];
      return algorithm === undefined ? undefined : [algorithm];
    }
    default:
      return undefined;
  }
}
