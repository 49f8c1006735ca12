// Who may call a gateway, and what it hands on to agents: everything that lives in the folder
// `identity` of the state, opened once and followed while it changes.

import { type Clock, Closers, type Log, systemClock } from '@starloom/core';
import { keepReserve, makeOwnFolder } from '@starloom/wire';
import type { JSONWebKeySet } from 'jose';
import { AuditLog } from './audit/audit-log.ts';
import type { AuditEntry } from './audit/audit-record.ts';
import { type Authenticator, createAuthenticator, type TokenVerifier } from './authenticator.ts';
import type { Budget } from './budgets.ts';
import { type CredentialParts, CredentialValidity } from './credential-validity.ts';
import { KeyRing } from './keys/key-ring.ts';
import type { CertificateVerifier } from './mtls.ts';
import type { OauthVerifier } from './oauth/oauth-verifier.ts';
import type { Principal } from './principal.ts';
import type { PskKey } from './psk.ts';
import { EndedMandates } from './realm/ended-mandates.ts';
import type { RealmStore, StoreFollower } from './realm/realm-store.ts';
import { followRevocations } from './realm/revocation-sync.ts';
import { followIdentity, tryShareIdentity } from './realm/shared-identity.ts';
import { failure } from './reasons.ts';
import type { MandateClaims } from './tokens/claims.ts';
import { readMandate, toActors } from './tokens/mandate.ts';
import { Mint, type MintOptions, toCogId } from './tokens/mint.ts';
import { readPassport, toPassportPrincipal } from './tokens/passport.ts';
import { rememberVerified, toDelegate } from './tokens/read-token.ts';
import { Revocations, type Revoked } from './tokens/revocations.ts';
import { SigningKeys } from './tokens/signing-keys.ts';

interface IdentityOptions {
  /** Of the state; gateways that share it share keys and revocations. */
  readonly folder: string;
  /** Keys of the configuration, beside those of the folder. */
  readonly configured: readonly PskKey[];
  readonly anonymous: boolean;
  /** Of client certificates; without it they only bind tokens. */
  readonly certificates?: CertificateVerifier | undefined;
  /** Of access tokens; without it there are none. The caller closes it. */
  readonly oauth?: OauthVerifier | undefined;
  /** What gateways with other folders share with this one; without it they share nothing. */
  readonly realm?: RealmStore | undefined;
  /** The secret of the realm: with it keys and signing keys are shared, too. */
  readonly realmSecret?: Uint8Array | undefined;
  /** Where every decision and mint is written down; without it none is. */
  readonly auditFolder?: string | undefined;
  /** Version and digest of an agent that calls back, for `cog`. */
  readonly buildOf?: ((agentId: string) => string | undefined) | undefined;
  readonly clock?: Clock;
  readonly log: Log;
}

export interface Identity {
  /** Where keys and revocations are kept. */
  readonly folder: string;
  readonly authenticator: Authenticator;
  readonly mint: Mint;
  readonly audit: AuditLog | undefined;
  readonly issuer: string;
  readonly realm: RealmStore | undefined;
  /** Of requests without headers. */
  readonly passports: TokenVerifier;
  readonly mandates: TokenVerifier;
  /** The public keys of the realm, with its name as `issuer`. */
  jwks(): JSONWebKeySet & { readonly issuer: string };
  /** Everything made so far for it is refused here from now on; the epoch of the revocation. */
  revoke(kind: Revoked, id: string): Promise<number>;
  close(): Promise<void>;
}

export async function openIdentity(options: IdentityOptions): Promise<Identity> {
  const opened = new Closers();
  try {
    return await openParts(options, opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function openParts(options: IdentityOptions, opened: Closers): Promise<Identity> {
  const { folder, configured, anonymous, realm, clock = systemClock, log } = options;
  const listeners = new Set<() => void>();
  const onChange = () => {
    for (const listener of [...listeners]) listener();
  };
  const syncs: StoreFollower[] = [];
  const onRevoked = () => {
    onChange();
    for (const sync of syncs) void sync.hint();
  };
  await makeOwnFolder(folder);
  const shared = realm && options.realmSecret && { store: realm, secret: options.realmSecret };
  // Before the first signing key is made: a realm has one set of them.
  if (shared) await tryShareIdentity(folder, shared, clock, log);
  const keys = await KeyRing.open({ folder, configured, clock, log, onChange: onRevoked });
  opened.add(() => keys.close());
  const signing = await SigningKeys.open({ folder, clock, log, onChange: onRevoked });
  opened.add(() => signing.close());
  const revocations = await Revocations.open(folder, log, onRevoked);
  opened.add(() => revocations.close());
  await keepReserve(folder);
  const files = {
    changeRevocations: revocations.change.bind(revocations),
    changeKeys: keys.change.bind(keys),
    changeSigning: signing.change.bind(signing),
  };
  opened.add(async () => void (await Promise.all(syncs.map((sync) => sync.close()))));
  if (realm) syncs.push(await followRevocations({ realm, files, clock, log }));
  if (shared) syncs.push(...(await followIdentity(shared, files, clock, log)));
  const ended = realm && new EndedMandates({ realm, clock, log });
  if (ended) opened.add(() => ended.close());
  const epoch = () => revocations.epoch;
  const audit = options.auditFolder
    ? await AuditLog.open({ folder: options.auditFolder, keys: signing, clock, log })
    : undefined;
  if (audit) opened.add(() => audit.close());
  const record: MintOptions['record'] = async (minted) => audit?.recorded(toMintEntry(minted));
  const onEnd: MintOptions['onEnd'] = ({ jti, exp }) => ended?.add(jti, exp * 1000);
  const mint = new Mint({ keys: signing, clock, epoch, record, onEnd });
  const { buildOf, oauth } = options;
  const parts = { clock, keys, signing, revocations, mint, ended, oauth };
  const validity = new CredentialValidity(parts);
  const { isCurrent, isRevoked } = validity;
  const tokens: TokenParts = { ...parts, buildOf, validity };
  const passports = rememberVerified((text) => fromPassport(text, tokens), isCurrent);
  const mandates = rememberVerified((token) => fromMandate(token, tokens), isCurrent);
  return {
    folder,
    authenticator: createAuthenticator({
      psk: keys,
      passport: passports,
      mandate: mandates,
      oauth,
      certificates: options.certificates,
      anonymous,
      isCurrent,
      isRevoked,
      onChange: (listener: () => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    }),
    mint,
    audit,
    realm,
    passports,
    mandates,
    get issuer() {
      return signing.issuer;
    },
    jwks: () => ({ ...signing.jwks(), issuer: signing.issuer }),
    revoke: (kind, id) => revocations.revoke(kind, id, clock.now()),
    close: () => opened.close(),
  };
}

function toMintEntry({ claims, hash }: Parameters<MintOptions['record']>[0]): AuditEntry {
  const { prn, sub, mnd, cog, aud, cap, scp, dep, jti, pah, exp, bud, tid } = claims;
  return {
    type: 'mint',
    principal: prn,
    delegate: sub,
    grant: mnd,
    cog,
    audience: aud,
    cap,
    scp,
    depth: dep,
    jti,
    hash,
    ...(pah !== undefined && { parent: pah }),
    expires_at: new Date(exp * 1000).toISOString(),
    budget: bud,
    trace_id: tid,
  };
}

interface TokenParts extends CredentialParts, Pick<IdentityOptions, 'buildOf'> {
  readonly validity: CredentialValidity;
}

async function fromPassport(text: string, parts: TokenParts): Promise<Principal> {
  const { signing, revocations, validity, clock } = parts;
  const read = await readPassport(text, signing, clock.now());
  const principal = toPassportPrincipal(read, text);
  revocations.assertValid(principal.delegation);
  return validity.assertCurrent(principal);
}

/** An agent that calls on behalf of its caller. */
async function fromMandate(token: string, parts: TokenParts): Promise<Principal> {
  const { signing, revocations, validity, clock, mint, ended, buildOf } = parts;
  const read = await readMandate(token, signing.findKey, signing.issuer, clock.now());
  const { sub, cog, act, aud, dep, jti, tid, pid, rxp, exp } = read.claims;
  const principal = toDelegate(read, token, {
    delegateId: aud,
    passportId: pid ?? null,
    cogId: toCogId(aud, buildOf?.(aud) ?? 'unknown', jti),
    depth: dep,
    traceId: tid,
    ...(rxp !== undefined && { rootExpiresAt: rxp * 1000 }),
    budget: budgetOf(read.claims, clock.now()),
    actors: [{ sub, cog }, ...toActors(act)],
  });
  if (!mint.isOwn(jti)) await ended?.follow(jti, exp * 1000);
  if (validity.isOver(jti)) throw failure('replayed/over');
  revocations.assertValid(principal.delegation);
  return validity.assertCurrent(principal);
}

/** What is left of the time of a mandate; it was minted at any moment of its second. */
function budgetOf({ bud: { calls, ms }, iat }: MandateClaims, now: number): Budget {
  return { calls, ms: Math.max(0, Math.min(ms, (iat + 1) * 1000 + ms - now)) };
}
