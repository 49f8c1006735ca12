// The public keys of one issuer, as it publishes them. They are read when the first token comes, and
// again in the background when they are old. A key id that is not among them causes one more request,
// and never more than one in half a minute, however many tokens ask. Keys that were read once go on when
// the issuer cannot be reached.

import type { KeyObject } from 'node:crypto';
import type { Clock, Log } from '@starloom/core';
import { createLocalJWKSet, errors, type JWK } from 'jose';
import { z } from 'zod';
import { denied } from '../denied.ts';
import { unknownSigner } from '../tokens/read-token.ts';
import { toVerifyingKey } from '../tokens/signature.ts';

export interface IssuerKeysOptions {
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
    throw this.#current ? unknownSigner() : this.#unavailable();
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
      throw unknownSigner();
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

  #unavailable() {
    const fix = 'try again later; the operator finds the cause in the log of the gateway';
    return denied('issuer_unavailable', 'The keys of the token issuer cannot be read', fix);
  }

  #now(): number {
    return this.#options.clock.now();
  }
}
