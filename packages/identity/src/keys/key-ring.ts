// All shared keys of a gateway: those of its configuration, which are fixed, and those of `keys.json`,
// which come and go while it runs. A change makes a whole new table; the old one is never edited.

import type { Clock, Log } from '@starloom/core';
import type { Principal } from '../principal.ts';
import { createPskVerifier, type KnownKeys, type PskKey, type PskVerifier } from '../psk.ts';
import { LiveFile } from '../state/state-file.ts';
import { type KeyRecord, type KeysFile, keysFile } from './key-records.ts';

interface KeyRingOptions {
  /** Where `keys.json` is. */
  readonly folder: string;
  readonly configured: readonly PskKey[];
  readonly clock: Clock;
  readonly log: Log;
  /** Keys were added, changed or revoked. */
  readonly onChange: () => void;
}

export class KeyRing implements PskVerifier {
  readonly #options: KeyRingOptions;
  #file: LiveFile<KeysFile> | undefined;
  #verifier: PskVerifier;
  /** Until when each key may be used, by its id; in milliseconds. */
  validUntil: ReadonlyMap<string, number> = new Map();

  private constructor(options: KeyRingOptions) {
    this.#options = options;
    this.#verifier = createPskVerifier(options.configured);
  }

  /** BAD_INPUT when a key of the file has the id or the secret of a configured one. */
  static async open(options: KeyRingOptions): Promise<KeyRing> {
    const ring = new KeyRing(options);
    const { folder, log } = options;
    const onChange = (file: KeysFile) => ring.#follow(file);
    ring.#file = await LiveFile.open({ ...keysFile(folder), log, onChange });
    ring.#use(ring.#file.value);
    return ring;
  }

  verify(bearer: string): Principal | undefined {
    const principal = this.#verifier.verify(bearer);
    return principal && this.isValid(principal) ? principal : undefined;
  }

  readonly keys: KnownKeys = {
    find: (keyId) => (this.isLive(keyId) ? this.#verifier.keys?.find(keyId) : undefined),
    list: () => (this.#verifier.keys?.list() ?? []).filter((principal) => this.isValid(principal)),
  };

  /** Whether the key with which this principal came may still be used. */
  isValid({ keyId }: Pick<Principal, 'keyId'>): boolean {
    return keyId !== null && this.isLive(keyId);
  }

  isLive(keyId: string): boolean {
    return (this.validUntil.get(keyId) ?? 0) > this.#options.clock.now();
  }

  /** Whether the key was ended by command; one that is unknown here may be of another gateway. */
  isRevoked(keyId: string): boolean {
    const records = this.#file?.value.keys ?? [];
    return records.some(({ key_id, revoked_at }) => key_id === keyId && revoked_at !== null);
  }

  async change(edit: (file: KeysFile) => KeysFile | Promise<KeysFile>): Promise<KeysFile> {
    if (!this.#file) throw new Error('the keys are not open');
    return await this.#file.change(edit);
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  /** A key with the id of a configured one is left out: the others must not suffer from it. */
  #follow(file: KeysFile): void {
    const { configured, log, onChange } = this.#options;
    const taken = new Set(configured.map(({ key_id }) => key_id));
    const keys = file.keys.filter(({ key_id }) => !taken.has(key_id));
    this.#use({ ...file, keys });
    const left_out = file.keys.length - keys.length;
    if (left_out > 0) log.error({ left_out }, 'keys with the id of a configured key are refused');
    log.info({ keys: this.validUntil.size }, 'shared keys were read again');
    onChange();
  }

  #use({ keys }: KeysFile): void {
    const { configured } = this.#options;
    const stored = keys.filter(({ revoked_at }) => revoked_at === null);
    this.#verifier = createPskVerifier([...configured, ...stored.map(toPskKey)]);
    this.validUntil = new Map([
      ...configured.map(({ key_id }) => [key_id, Infinity] as const),
      ...stored.map(({ key_id, expires_at }) => [key_id, toMs(expires_at) ?? Infinity] as const),
    ]);
  }
}

function toPskKey({ key_id, key_hash, principal, tier, scopes, expires_at }: KeyRecord): PskKey {
  return { key_id, key_hash, principal, tier, scopes, expiresAt: toMs(expires_at) };
}

function toMs(time: string | null): number | undefined {
  return time === null ? undefined : Date.parse(time);
}
