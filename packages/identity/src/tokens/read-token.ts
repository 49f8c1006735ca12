// Reads a signed token. Everything about its form is checked before the signature, so that nothing is
// left for a library to be lenient with: one algorithm, one type, a key id, and no other header.

import { hash } from 'node:crypto';
import { FabricError, isObject, RecentMap } from '@starloom/core';
import { jsonExcess, membersIn } from '@starloom/wire';
import { type CryptoKey, compactVerify, errors, type JWSHeaderParameters } from 'jose';
import { z } from 'zod';
import type { TokenVerifier } from '../authenticator.ts';
import { toScopes } from '../authority.ts';
import { boundCertificate } from '../mtls.ts';
import { type Delegation, type Principal, toOwnerId } from '../principal.ts';
import { failure } from '../reasons.ts';
import { MAX_TOKEN_LENGTH, type MandateClaims, type PassportClaims } from './claims.ts';

export const ALGORITHM = 'Ed25519';

/** Finds the public key of a header; as `createJwks` makes it. */
export type FindKey = (header: JWSHeaderParameters) => Promise<CryptoKey>;

const headerSchema = z.strictObject({
  alg: z.string(),
  typ: z.string(),
  kid: z.string().min(1).max(256),
});

export interface ReadToken<Claims> {
  readonly claims: Claims;
  readonly kid: string;
}

/** The verified claims; AUTH_DENIED with the reason for everything else. */
export async function readSigned<Claims>(
  token: string,
  type: string,
  schema: z.ZodType<Claims>,
  findKey: FindKey,
): Promise<ReadToken<Claims>> {
  const { kid } = assertForm(token, type);
  const payload = await verifySignature(token, findKey);
  const parsed = schema.safeParse(parseStrict(payload));
  if (parsed.success) return { claims: parsed.data, kid };
  throw failure('bad_claims', { claims: pathsOf(parsed.error) });
}

/** SHA-256 of a credential, as the next mandate names it. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'base64url');
}

/** The delegate that acts by a passport or a mandate; `own` is what only one of the two kinds says. */
export function toDelegate(
  { claims, kid }: ReadToken<PassportClaims | MandateClaims>,
  token: string,
  own: Pick<Delegation, 'delegateId' | 'passportId' | 'cogId' | 'depth' | 'actors'> &
    Partial<Delegation>,
): Principal & { readonly delegation: Delegation } {
  const { prn, mnd, cap, scp, tier, epo, mxd, jti, exp } = claims;
  const boundTo = boundCertificate(claims.cnf);
  return Object.freeze({
    id: toOwnerId(prn, own.delegateId),
    mode: 'passport',
    tier,
    scopes: Object.freeze(toScopes({ cap, scp })),
    keyId: kid,
    expiresAt: exp * 1000,
    ...(boundTo !== undefined && { boundTo }),
    delegation: Object.freeze({
      principalId: prn,
      mandateId: mnd,
      cap,
      scp,
      epoch: epo,
      maxDepth: mxd,
      tokenHash: hashToken(token),
      tokenId: jti,
      ...own,
    }),
  });
}

/** JSON of an object in which no key stands twice; the parser would keep the last. */
export function parseJsonObject(text: string): Record<string, unknown> {
  const excess = jsonExcess(text, { depth: 32, nodes: 2_000 });
  if (excess) throw malformed('it holds too many values');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('it holds something else than JSON');
  }
  if (!isObject(value)) throw malformed('it holds something else than an object');
  if (membersIn(text) > keysIn(value)) throw malformed('it has a key twice in one object');
  return value;
}

/** Which fields are wrong; never their values. */
export function pathsOf({ issues }: z.ZodError): string {
  const paths = issues.map(({ path, code }) => `${path.join('.') || 'token'} (${code})`);
  return paths.slice(0, 5).join(', ');
}

/** The header of a compact token, before anything is believed. */
export function readHeader(token: string): Record<string, unknown> {
  if (token.length > MAX_TOKEN_LENGTH) throw malformed('it is too long');
  const parts = token.split('.');
  if (parts.length !== 3 || !parts.every(isBase64Url)) throw malformed('it is not a compact JWS');
  return parseStrict(Buffer.from(parts[0] ?? '', 'base64url'));
}

function assertForm(token: string, type: string): z.output<typeof headerSchema> {
  const header = headerSchema.safeParse(readHeader(token));
  if (!header.success) throw malformed('its header must be alg, typ and kid alone');
  const { alg, typ } = header.data;
  if (alg !== ALGORITHM) throw malformed(`its algorithm must be ${ALGORITHM}`);
  if (typ !== type) throw failure('wrong_type', { type });
  return header.data;
}

/** Its one spelling: bits that do not count are zero, and there is no padding. */
function isBase64Url(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}

async function verifySignature(token: string, findKey: FindKey): Promise<Uint8Array> {
  try {
    const { payload } = await compactVerify(token, (header) => findKey(header), {
      algorithms: [ALGORITHM],
    });
    return payload;
  } catch (error) {
    if (FabricError.is(error)) throw error;
    if (error instanceof errors.JWKSNoMatchingKey) throw failure('unknown_signer');
    if (error instanceof errors.JOSEError && !isKeyFailure(error)) throw failure('bad_signature');
    // Keys that cannot be had are no proof: the caller is refused.
    throw failure('unknown_signer/keys', {}, { cause: error });
  }
}

function malformed(what: string): FabricError {
  return failure('malformed/token', { what });
}

function isKeyFailure(error: Error): boolean {
  return error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid;
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** UTF-8 and JSON of an object without double keys. */
export function parseStrict(bytes: Uint8Array): Record<string, unknown> {
  let text: string;
  try {
    text = UTF_8.decode(bytes);
  } catch {
    throw malformed('it holds something else than UTF-8');
  }
  return parseJsonObject(text);
}

function keysIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const children = Object.values(value);
  const own = Array.isArray(value) ? 0 : children.length;
  return children.reduce<number>((sum, child) => sum + keysIn(child), own);
}

const MAX_REMEMBERED = 10_000;

/**
 * Tokens that were verified lately, by their hash: a signature costs a hundred times a lookup. Whether
 * one still holds is asked each time; one that does not is verified again, which says why.
 */
export function rememberVerified(
  verify: (token: string) => Promise<Principal>,
  isCurrent: (principal: Principal) => boolean,
): TokenVerifier {
  const known = new RecentMap<Principal>(MAX_REMEMBERED);
  return {
    verify(token) {
      const digest = hash('sha256', token, 'base64');
      const principal = known.get(digest);
      if (principal && isCurrent(principal)) return principal;
      known.delete(digest);
      return verify(token).then((verified) => {
        known.set(digest, verified);
        return verified;
      });
    },
  };
}
