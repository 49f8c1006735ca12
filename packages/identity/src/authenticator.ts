// Who calls? There is no chain of ways to try: the one credential that a request shows decides, and
// one that does not hold is refused even where callers without any are let in.

import {
  assertNoCredentialInUrl,
  type RequestHeaders,
  readBearer,
  readWebSocketProtocols,
  valuesOf,
} from './credentials.ts';
import { denied } from './denied.ts';
import { ANONYMOUS_PRINCIPAL, LOCAL_PRINCIPAL, type Principal } from './principal.ts';
import type { PskVerifier } from './psk.ts';

export type AuthRequest =
  | { readonly transport: 'stdio'; readonly headers?: RequestHeaders; readonly url?: string }
  | {
      readonly transport: 'http' | 'ws';
      readonly headers: RequestHeaders;
      /** As in the request line. */
      readonly url?: string | undefined;
      /** What the request came over: a key that was right on it stays right while it lasts. */
      readonly connection?: object | undefined;
    };

export interface AuthenticatorOptions {
  readonly psk: PskVerifier;
  /** Lets callers without any credential in; the configuration allows it on loopback only. */
  readonly anonymous: boolean;
}

export interface Authenticator {
  /** The caller, or a thrown AUTH_DENIED with `details.reason` and `details.fix`. */
  authenticate(request: AuthRequest): Principal;
}

const FIX = 'send "Authorization: Bearer <key>" with a key that is known here';

export function createAuthenticator({ psk, anonymous }: AuthenticatorOptions): Authenticator {
  const verified = new WeakMap<
    object,
    { readonly bearer: string; readonly principal: Principal }
  >();
  return {
    authenticate(request) {
      if (request.transport === 'stdio') return LOCAL_PRINCIPAL;
      const bearer = readCredential(request);
      if (bearer === undefined) {
        if (anonymous) return ANONYMOUS_PRINCIPAL;
        throw denied('missing', 'The request has no credentials', FIX);
      }
      const { connection } = request;
      const known = connection && verified.get(connection);
      if (known?.bearer === bearer) return known.principal;
      const principal = psk.verify(bearer);
      if (!principal) throw denied('unknown_key', 'The key is not known', FIX);
      if (connection) verified.set(connection, { bearer, principal });
      return principal;
    },
  };
}

function readCredential({
  transport,
  headers,
  url = '',
}: Exclude<AuthRequest, { transport: 'stdio' }>): string | undefined {
  assertNoCredentialInUrl(url);
  if (valuesOf(headers, 'x-agent-passport').length > 0) {
    throw denied('unsupported', 'Passports are not accepted here', FIX);
  }
  const fromHeader = readBearer(headers);
  const { bearer } = readWebSocketProtocols(valuesOf(headers, 'sec-websocket-protocol'));
  if (bearer === undefined) return fromHeader;
  if (fromHeader !== undefined) {
    throw denied('several_credentials', 'The request has two credentials', FIX);
  }
  if (transport === 'ws') return bearer;
  throw denied('malformed', 'A bearer subprotocol is for WebSockets only', FIX);
}
