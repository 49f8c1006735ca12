import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toRealmStore } from '@starloom/coordination';
import { MemoryCoordinationStore } from '@starloom/coordination/testing';
import { FabricError, type Log, type LogFields, silentLog } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import {
  type Identity,
  openIdentity,
  type RealmStore,
  readEpoch,
  SigningKeys,
  signPassport,
  toPassportClaims,
} from '@starloom/identity';

export interface Member extends AsyncDisposable {
  readonly folder: string;
  readonly identity: Identity;
  readonly realm: AwayStore;
  readonly warnings: readonly string[];
  passport(principal: string): Promise<string>;
  /** `ok`, or why the credential is refused. */
  tryWith(name: 'passport' | 'mandate' | 'key', text: string): Promise<string>;
  close(): Promise<void>;
}

/** Gateways with state folders of their own, signing keys of one realm, and one store. */
export async function openRealmWorld({ secret }: { secret?: Uint8Array } = {}) {
  const root = await mkdtemp(join(tmpdir(), 'starloom-realm-'));
  const clock = new ManualClock();
  const store = new MemoryCoordinationStore({ clock });
  const seed = join(root, 'seed');
  await (await SigningKeys.open({ folder: seed, clock, log: silentLog })).close();
  const members: Member[] = [];
  return {
    clock,
    store,
    seed,
    root,
    /** A gateway that starts now; in an existing folder, or one with the keys of the realm. */
    async join(
      name: string,
      keys: 'of the realm' | 'its own' = 'of the realm',
      { isAway = false } = {},
    ): Promise<Member> {
      const folder = join(root, name);
      if (keys === 'of the realm') await cp(seed, folder, { recursive: true, force: false });
      const realm = new AwayStore(toRealmStore(store));
      realm.isAway = isAway;
      const member = await openMember(folder, realm, clock, secret);
      members.push(member);
      return member;
    },
    [Symbol.asyncDispose]: async () => {
      for (const member of members) await member.close();
      await store.close();
      await rm(root, { recursive: true });
    },
  };
}

async function openMember(
  folder: string,
  realm: AwayStore,
  clock: ManualClock,
  realmSecret: Uint8Array | undefined,
): Promise<Member> {
  const warnings: string[] = [];
  const warn = (_: LogFields, message: string) => void warnings.push(message);
  const log: Log = { ...silentLog, warn };
  const identity = await openIdentity({
    folder,
    configured: [],
    anonymous: false,
    realm,
    realmSecret,
    clock,
    log,
  });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= identity.close();
    return closed;
  };
  return {
    folder,
    identity,
    realm,
    warnings,
    close,
    passport: async (principal) => {
      const keys = await SigningKeys.open({ folder, clock, log: silentLog });
      const terms = { cap: ['*'], scp: [], tier: 'org', lifeMs: 3_600_000, maxDepth: 4 } as const;
      const epoch = await readEpoch(folder);
      const claims = toPassportClaims(
        { ...terms, principal, epoch, now: clock.now() },
        keys.issuer,
      );
      const token = await signPassport(claims, keys);
      await keys.close();
      return token;
    },
    tryWith: async (name, text) => {
      const headers =
        name === 'key' ? { authorization: `Bearer ${text}` } : { [`x-agent-${name}`]: text };
      try {
        await identity.authenticator.authenticate({ transport: 'http', headers });
        return 'ok';
      } catch (error) {
        return String(FabricError.from(error).details.reason);
      }
    },
    [Symbol.asyncDispose]: close,
  };
}

/** The way to the store, which can be cut. */
export class AwayStore implements RealmStore {
  readonly #store: RealmStore;
  isAway = false;

  constructor(store: RealmStore) {
    this.#store = store;
  }

  async read(...args: Parameters<RealmStore['read']>) {
    this.#assertThere();
    return await this.#store.read(...args);
  }

  async commit(...args: Parameters<RealmStore['commit']>) {
    this.#assertThere();
    return await this.#store.commit(...args);
  }

  async watch(name: string, listener: () => void) {
    this.#assertThere();
    return await this.#store.watch(name, () => {
      if (!this.isAway) listener();
    });
  }

  async events(...args: Parameters<RealmStore['events']>) {
    this.#assertThere();
    return await this.#store.events(...args);
  }

  #assertThere(): void {
    if (this.isAway) throw new FabricError('OVERLOADED', 'The store is away');
  }
}
