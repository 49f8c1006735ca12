// The public keys of one issuer, as it publishes them. They are read when the first token comes, and
// again in the background when they are old. A key id that is not among them causes one more request,
// and never more than one in half a minute, however many tokens ask. Keys that were read once go on when
// the issuer cannot be reached.

import { constants, KeyObject, verify } from 'node:crypto';
import { type Clock, isLoopback, type Log } from '@starloom/core';
import type { GuardedFetch } from '@starloom/wire';
import { type CryptoKey, createLocalJWKSet, errors, type JWK } from 'jose';
import { z } from 'zod';
import { failure } from '../reasons.ts';

interface IssuerKeysOptions {
  readonly issuer: string;
  /** Reads the key set of the issuer; throws when it cannot be had. */
  readonly fetchKeys: () => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Log;
}

const COOLDOWN_MS = 30_000;
const FRESH_MS = 300_000;
const MAX_KEYS = 100;

const keySetSchema = z.object({
  keys: z.array(z.looseObject({ kty: z.string(), kid: z.string().optional() })).max(MAX_KEYS),
});

interface KeySet {
  readonly find: ReturnType<typeof createLocalJWKSet>;
  /** Those that were found, by key id and algorithm: looking one up costs a part of a signature. */
  readonly found: Map<string, KeyObject>;
  readonly kids: ReadonlySet<string>;
  readonly readAt: number;
}

/** Of the header of a token. */
export interface KeyName {
  readonly alg: string;
  readonly kid: string;
}

export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #current: KeySet | undefined;
  #reading: Promise<void> | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** The key of a header; AUTH_DENIED when the issuer has none, or cannot be asked. */
  async find(header: KeyName): Promise<KeyObject> {
    if (!this.#current) await this.#read();
    else if (this.#now() - this.#current.readAt > FRESH_MS) void this.#read();
    const known = await this.#lookup(header);
    if (known) return known;
    await this.#read();
    const found = await this.#lookup(header);
    if (found) return found;
    throw failure(this.#current ? 'unknown_signer' : 'issuer_unavailable');
  }

  /** Whether the issuer still publishes this key. */
  has(kid: string): boolean {
    return this.#current?.kids.has(kid) ?? false;
  }

  async #lookup(header: KeyName): Promise<KeyObject | undefined> {
    const { find, found } = this.#current ?? {};
    const name = `${header.alg} ${header.kid}`;
    const known = found?.get(name);
    if (known) return known;
    try {
      const key = find && toVerifyingKey(await find({ ...header }));
      if (key) found?.set(name, key);
      return key;
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      throw failure('unknown_signer');
    }
  }

  /** Never throws; does nothing so soon after the last time. */
  #read(): Promise<void> {
    if (this.#reading) return this.#reading;
    if (this.#now() - this.#triedAt < COOLDOWN_MS) return Promise.resolve();
    this.#triedAt = this.#now();
    this.#reading = this.#fetch().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #fetch(): Promise<void> {
    const { fetchKeys, issuer, log } = this.#options;
    try {
      const { keys } = keySetSchema.parse(await fetchKeys());
      const find = createLocalJWKSet({ keys: keys as JWK[] });
      const kids = new Set(keys.flatMap(({ kid }) => kid ?? []));
      this.#current = { find, found: new Map(), kids, readAt: this.#now() };
    } catch (error) {
      const goesOn = this.#current !== undefined;
      log.warn({ issuer, error, goes_on: goesOn }, 'the keys of an OAuth issuer cannot be read');
    }
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

const metadataSchema = z.looseObject({ issuer: z.string() });

interface KeySource {
  readonly issuer: string;
  readonly jwks_uri?: string | undefined;
}

/**
 * The key set as the issuer wrote it, from the address in the configuration, else from where the metadata of
 * the issuer says (OpenID Connect Discovery, RFC 8414). Only issuers of the configuration are asked, and
 * nothing in a token chooses an address. Throws when the keys cannot be had.
 */
export async function fetchKeys(source: KeySource, http: GuardedFetch): Promise<unknown> {
  const url = source.jwks_uri ?? (await findJwksUri(source.issuer, http));
  const keys = await getJson(url, http);
  if (keys === undefined) throw new Error(`there are no keys at ${url}`);
  return keys;
}

async function findJwksUri(issuer: string, http: GuardedFetch): Promise<string> {
  const metadata = await fetchIssuerMetadata(issuer, http);
  if (!metadata) throw new Error(`${issuer} has no metadata; set jwks_uri`);
  return secureAddressIn(metadata, 'jwks_uri');
}

/** What the issuer publishes of itself; `undefined` when it publishes nothing. */
export async function fetchIssuerMetadata(
  issuer: string,
  http: GuardedFetch,
): Promise<z.output<typeof metadataSchema> | undefined> {
  for (const url of metadataUrls(issuer)) {
    const document = await getJson(url, http);
    if (document === undefined) continue;
    const metadata = metadataSchema.parse(document);
    if (metadata.issuer !== issuer) throw new Error(`${url} is the metadata of another issuer`);
    return metadata;
  }
  return undefined;
}

/** An address of the metadata; throws unless it is https, or on this machine. */
export function secureAddressIn(
  metadata: z.output<typeof metadataSchema>,
  name: 'jwks_uri' | 'authorization_endpoint' | 'token_endpoint',
): string {
  const address = z.url().parse(metadata[name]);
  if (isSecure(address)) return address;
  throw new Error(`the ${name} of ${metadata.issuer} is not https`);
}

function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}

async function getJson(url: string, http: GuardedFetch): Promise<unknown> {
  const response = await http.fetch(url, { headers: { accept: 'application/json' } });
  if (response.status === 404) return undefined;
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  return await response.json();
}

/** Without TLS only on this machine. */
export function isSecure(text: string): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(host));
}

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

/**
 * The signature of a compact JWS, checked on this thread: a way to the thread pool and back takes as long as
 * the check itself, and far longer on a busy machine. Which key it is, and whether it is one for this
 * algorithm, was decided before, when jose imported it; so was the form of the token.
 */
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
