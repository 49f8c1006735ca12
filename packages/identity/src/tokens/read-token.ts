// Reads a signed token. Everything about its form is checked before the signature, so that nothing is
// left for a library to be lenient with: one algorithm, one type, a key id, and no other header.

import { hash } from 'node:crypto';
import { FabricError } from '@starloom/core';
import { jsonExcess, membersIn } from '@starloom/wire';
import { type CryptoKey, compactVerify, errors, type JWSHeaderParameters } from 'jose';
import { z } from 'zod';
import { MAX_TOKEN_LENGTH } from '../credentials.ts';
import { denied } from '../denied.ts';
import { badClaims } from './claims.ts';

export const ALGORITHM = 'Ed25519';

/** Finds the public key of a header; as `createJwks` makes it. */
export type FindKey = (header: JWSHeaderParameters) => Promise<CryptoKey>;

const FIX = 'send the token as it was given to you';

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
  throw badClaims(pathsOf(parsed.error));
}

/** SHA-256 of a credential, as the next mandate names it. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'base64url');
}

/** JSON of an object in which no key stands twice; the parser would keep the last. */
export function parseJsonObject(text: string): Record<string, unknown> {
  const excess = jsonExcess(text, { depth: 32, nodes: 2_000 });
  if (excess) throw denied('malformed', 'The token holds too many values', FIX);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw denied('malformed', 'The token holds something else than JSON', FIX);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw denied('malformed', 'The token holds something else than an object', FIX);
  }
  if (membersIn(text) > keysIn(value)) {
    throw denied('malformed', 'The token has a key twice in one object', FIX);
  }
  return value as Record<string, unknown>;
}

/** Which fields are wrong; never their values. */
export function pathsOf({ issues }: z.ZodError): string {
  const paths = issues.map(({ path, code }) => `${path.join('.') || 'token'} (${code})`);
  return paths.slice(0, 5).join(', ');
}

/** The header of a compact token, before anything is believed. */
export function readHeader(token: string): Record<string, unknown> {
  if (token.length > MAX_TOKEN_LENGTH) throw denied('malformed', 'The token is too long', FIX);
  const parts = token.split('.');
  if (parts.length !== 3 || !parts.every(isBase64Url)) {
    throw denied('malformed', 'The token is not a compact JWS', FIX);
  }
  return parseStrict(Buffer.from(parts[0] ?? '', 'base64url'));
}

function assertForm(token: string, type: string): z.output<typeof headerSchema> {
  const header = headerSchema.safeParse(readHeader(token));
  if (!header.success) {
    throw denied('malformed', 'The header of the token must be alg, typ and kid alone', FIX);
  }
  const { alg, typ } = header.data;
  if (alg !== ALGORITHM) throw denied('malformed', `The algorithm must be ${ALGORITHM}`, FIX);
  if (typ !== type) {
    throw denied('wrong_type', `A token of type ${type} is expected here`, FIX);
  }
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
    if (error instanceof errors.JWKSNoMatchingKey) throw unknownSigner();
    if (error instanceof errors.JOSEError && !isKeyFailure(error)) {
      throw denied('bad_signature', 'The signature of the token is wrong', FIX);
    }
    throw keysUnavailable(error);
  }
}

export function unknownSigner(): FabricError {
  const fix = 'ask for another token: its signing key is not in use any more';
  return denied('unknown_signer', 'The key that signed the token is not known', fix);
}

/** Keys that cannot be had are no proof: the caller is refused. */
function keysUnavailable(cause: unknown): FabricError {
  const fix = 'check the address of the JWKS, and whether the gateway runs';
  const error = denied('unknown_signer', 'The keys of the issuer cannot be read', fix);
  return new FabricError(error.code, error.message, { details: error.details, cause });
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
    throw denied('malformed', 'The token holds something else than UTF-8', FIX);
  }
  return parseJsonObject(text);
}

function keysIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const children = Object.values(value);
  const own = Array.isArray(value) ? 0 : children.length;
  return children.reduce<number>((sum, child) => sum + keysIn(child), own);
}
