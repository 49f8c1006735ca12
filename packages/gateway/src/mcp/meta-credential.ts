// A passport or a mandate in `_meta` of one request: for callers on standard input and output, who have
// no headers. Everywhere else the credential is in the headers, and one in `_meta` would be a second.

import { MANDATE } from '@starloom/core';
import { assertBound, denied } from '@starloom/identity';
import type { Caller } from '../pipeline/call-request.ts';
import type { McpFace } from './server-factory.ts';

const META_PASSPORT = 'io.starloom/passport';

/** The caller, as the one that the credential of this request names. */
export async function identified(
  { credentials }: Pick<McpFace, 'credentials'>,
  caller: Caller,
): Promise<Caller> {
  const { transport, meta } = caller;
  if (transport !== 'stdio') {
    assertNoCredential(meta);
    return caller;
  }
  const { [META_PASSPORT]: passport, [MANDATE.meta]: mandate } = meta;
  const shown = passport ?? mandate;
  if (shown === undefined) return caller;
  if (passport !== undefined && mandate !== undefined) throw several();
  const verifier = passport === undefined ? credentials?.mandates : credentials?.passports;
  if (!verifier) throw denied('unsupported', 'Passports are not accepted here', 'leave it out');
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown);
  return { ...caller, principal: assertBound(await verifier.verify(text)) };
}

export function assertNoCredential(meta: Caller['meta']): void {
  if (meta[META_PASSPORT] !== undefined || meta[MANDATE.meta] !== undefined) throw several();
}

function several() {
  const fix = 'send one credential: over HTTP and WebSocket in the headers of the request';
  return denied('several_credentials', 'The request has two credentials', fix);
}
