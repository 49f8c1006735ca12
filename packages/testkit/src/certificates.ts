// Certificates for tests of TLS, made while the test runs: a CA, what it issues, and what it revokes.

import { webcrypto } from 'node:crypto';
import type * as X509 from '@peculiar/x509';

export interface IssuedCertificate {
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  readonly serial: string;
}

export interface LeafOptions {
  readonly name?: string;
  readonly dns?: readonly string[];
  readonly ips?: readonly string[];
  readonly uris?: readonly string[];
  /** In milliseconds from now; in the past it has expired. */
  readonly expiresIn?: number;
}

export interface TestCa {
  /** PEM. */
  readonly certificate: string;
  issue(options?: LeafOptions): Promise<IssuedCertificate>;
  revoke(serials: readonly string[]): Promise<string>;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const USES: webcrypto.KeyUsage[] = ['sign', 'verify'];
const DAY_MS = 86_400_000;

type KeyPair = webcrypto.CryptoKeyPair;

export async function createTestCa(name = 'Test CA'): Promise<TestCa> {
  // Most tests need none, and should not wait for it.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const keys = await makeKeys();
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + 30 * DAY_MS),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    certificate: ca.toString('pem'),
    issue: (options = {}) => issue(x509, ca, keys, options),
    revoke: async (serials) => {
      const list = await x509.X509CrlGenerator.create({
        issuer: ca.subject,
        thisUpdate: new Date(Date.now() - DAY_MS),
        nextUpdate: new Date(Date.now() + DAY_MS),
        entries: serials.map((serialNumber) => ({ serialNumber, revocationDate: new Date() })),
        signingAlgorithm: ALGORITHM,
        signingKey: keys.privateKey,
      });
      return x509.PemConverter.encode(list.rawData, 'X509 CRL');
    },
  };
}

async function issue(
  x509: typeof X509,
  ca: X509.X509Certificate,
  caKeys: KeyPair,
  { name = 'leaf', dns = [], ips = [], uris = [], expiresIn = 20 * DAY_MS }: LeafOptions,
): Promise<IssuedCertificate> {
  const keys = await makeKeys();
  const names: X509.JsonGeneralNames = [
    ...dns.map((value) => ({ type: 'dns' as const, value })),
    ...ips.map((value) => ({ type: 'ip' as const, value })),
    ...uris.map((value) => ({ type: 'url' as const, value })),
  ];
  const leaf = await x509.X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: ca.subject,
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + expiresIn),
    extensions: names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : [],
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  return {
    certificate: leaf.toString('pem'),
    key: x509.PemConverter.encode(key, 'PRIVATE KEY'),
    serial: leaf.serialNumber,
  };
}

async function makeKeys(): Promise<KeyPair> {
  return await webcrypto.subtle.generateKey(ALGORITHM, true, USES);
}
