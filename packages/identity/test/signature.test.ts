import { constants, generateKeyPairSync, sign } from 'node:crypto';
import { type CryptoKey, generateKeyPair, importJWK, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { isSigned, toVerifyingKey } from '../src/oauth/issuer-keys.ts';

const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

async function signedBy(alg: string) {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  const token = await new SignJWT({ sub: 'ada' }).setProtectedHeader({ alg }).sign(privateKey);
  return { token, publicKey: toVerifyingKey(publicKey) ?? expect.fail('the key is refused') };
}

/** As a foreign program may sign it. */
function signAs(alg: string, signer: (text: string) => Buffer): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${encode({ alg })}.${encode({ sub: 'ada' })}`;
  return `${text}.${signer(text).toString('base64url')}`;
}

describe('the signature of a token', () => {
  it.each(ALGORITHMS)('by %s holds for its text and key alone', async (alg) => {
    const { token, publicKey } = await signedBy(alg);
    expect(isSigned(token, alg, publicKey)).toBe(true);
    const [header, payload, signature = ''] = token.split('.');
    const bytes = Buffer.from(signature, 'base64url');
    bytes.writeUInt8(bytes.readUInt8(10) ^ 1, 10);
    const changed = [header, payload, bytes.toString('base64url')].join('.');
    expect(isSigned(changed, alg, publicKey)).toBe(false);
    expect(isSigned([header, `${payload}A`, signature].join('.'), alg, publicKey)).toBe(false);
    expect(isSigned([header, payload, ''].join('.'), alg, publicKey)).toBe(false);
    expect(isSigned(`${token.slice(0, -4)}`, alg, publicKey)).toBe(false);
    expect(isSigned(token, alg, (await signedBy(alg)).publicKey)).toBe(false);
  });

  it.each(['none', 'HS256', 'constructor', '__proto__', 'es256'])(
    'does not hold by %s',
    async (alg) => {
      const { token, publicKey } = await signedBy('ES256');
      expect(isSigned(token, alg, publicKey)).toBe(false);
    },
  );

  it('does not hold in another encoding', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const encodedAs = (dsaEncoding: 'der' | 'ieee-p1363') =>
      signAs('ES256', (text) =>
        sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding }),
      );
    expect(isSigned(encodedAs('ieee-p1363'), 'ES256', publicKey)).toBe(true);
    expect(isSigned(encodedAs('der'), 'ES256', publicKey)).toBe(false);
  });

  it('does not hold by PSS with a salt of another length', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const padding = constants.RSA_PKCS1_PSS_PADDING;
    const saltedBy = (saltLength: number) =>
      signAs('PS256', (text) =>
        sign('sha256', Buffer.from(text), { key: privateKey, padding, saltLength }),
      );
    expect(isSigned(saltedBy(32), 'PS256', publicKey)).toBe(true);
    expect(isSigned(saltedBy(0), 'PS256', publicKey)).toBe(false);
  });

  it('is not asked of an RSA key of less than 2048 bits', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const jwk = { ...publicKey.export({ format: 'jwk' }), kty: 'RSA' };
    expect(toVerifyingKey((await importJWK(jwk, 'RS256')) as CryptoKey)).toBeUndefined();
  });
});
