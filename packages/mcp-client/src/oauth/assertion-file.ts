// The JWT that a platform writes for its workload, or single sign-on for a person. It is short-lived
// and replaced in place, so it is read for every token. Only what has the form of a JWT leaves this
// machine: a path that names another file by mistake, or by intent, discloses nothing.

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FabricError } from '@starloom/core';
import { decodeJwt, type JWTPayload } from 'jose';
import { tokenDenied } from './failures.ts';

const MAX_BYTES = 16_384;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** A pipe must not hold up the call. */
const READ_ONLY = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Throws AUTH_DENIED, without the path: that is for the operator's eyes. */
export async function readAssertion(path: string): Promise<string> {
  const text = (await readSmallFile(path)).trim();
  if (!JWT.test(text)) throw notJwt();
  const { exp: expires } = claimsIn(text);
  if (typeof expires === 'number' && expires * 1000 <= Date.now()) {
    throw unusable('assertion_expired', 'has expired', 'have it replaced before it expires');
  }
  return text;
}

function claimsIn(jwt: string): JWTPayload {
  try {
    return decodeJwt(jwt);
  } catch {
    throw notJwt();
  }
}

async function readSmallFile(path: string): Promise<string> {
  const fix = 'correct oauth.assertion_file, and let the gateway read that file';
  try {
    await using file = await open(path, READ_ONLY);
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error('not a file');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES + 1));
    if (bytesRead > MAX_BYTES) throw new Error('too large');
    return buffer.toString('latin1', 0, bytesRead);
  } catch {
    throw unusable('assertion_missing', 'cannot be read', fix);
  }
}

function notJwt(): FabricError {
  return unusable('assertion_invalid', 'is not a JWT', 'correct oauth.assertion_file');
}

function unusable(reason: string, what: string, fix: string): FabricError {
  return tokenDenied(reason, `The assertion that stands for the gateway ${what}`, { fix });
}
