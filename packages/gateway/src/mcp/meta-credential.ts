// A passport or a mandate in `_meta` of one request: for callers on standard input and output, who have
// no headers. Everywhere else the credential is in the headers, and one in `_meta` would be a second.

import type { ServerContext } from '@modelcontextprotocol/server';
import { MANDATE } from '@starloom/core';
import { assertBound, denied } from '@starloom/identity';
import type { Caller } from '../pipeline/call-request.ts';
import { type Connection, connectionOf } from './connection.ts';
import type { McpFace } from './server-factory.ts';

export type Credentials = Pick<McpFace, 'credentials'>;

const META_PASSPORT = 'io.starloom/passport';

/** The connection of a request, as the one that the credential of this request names. */
export async function identifiedConnection(
  credentials: Credentials,
  context: ServerContext,
  opened: Connection,
): Promise<Connection> {
  const connection = connectionOf(context, opened);
  const meta = context.mcpReq._meta ?? {};
  const { principal } = await identified(credentials, { ...connection, meta });
  return principal === connection.principal ? connection : { ...connection, principal };
}

/** The caller, as the one that the credential of this request names. */
export async function identified<Asking extends Pick<Caller, 'transport' | 'meta' | 'principal'>>(
  { credentials }: Credentials,
  caller: Asking,
): Promise<Asking> {
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
