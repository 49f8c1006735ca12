// Who calls? There is no chain of ways to try: the one credential that a request shows decides, and
// one that does not hold is refused even where callers without any are let in. Another kind of
// credential is one more line in `readCredentials` and one more verifier.

import {
  assertNoCredentialInUrl,
  type RequestHeaders,
  readBearer,
  readToken,
  readWebSocketProtocols,
  valuesOf,
} from './credentials.ts';
import { denied } from './denied.ts';
import { assertBound, type CertificateVerifier, type ClientCertificate } from './mtls.ts';
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
      /** That the client showed when it connected. */
      readonly certificate?: ClientCertificate | undefined;
    };

/** Turns a token into its principal, or throws AUTH_DENIED. At once where it is known already. */
export interface TokenVerifier {
  verify(token: string): Principal | Promise<Principal>;
}

/** Takes bearer tokens beside keys. */
export interface BearerVerifier extends TokenVerifier {
  /** Whether a bearer credential is one of its tokens, whatever it is worth. */
  isOwn(bearer: string): boolean;
}

export interface KeyAuthenticatorOptions {
  readonly psk: PskVerifier;
  /** Lets callers without any credential in; the configuration allows it on loopback only. */
  readonly anonymous: boolean;
}

export interface AuthenticatorOptions extends KeyAuthenticatorOptions {
  /** Of `X-Agent-Passport`; without it such a header is refused. */
  readonly passport?: TokenVerifier;
  /**
   * Of `X-Agent-Mandate`, by which an agent calls on behalf of its caller. Without it the header is no
   * credential: an agent receives it beside the gateway's key, and verifies it itself.
   */
  readonly mandate?: TokenVerifier;
  /** Of access tokens in `Authorization`; every other bearer there is a key. */
  readonly oauth?: BearerVerifier | undefined;
  /** Of client certificates, where a request has no other credential; one beside that only binds it. */
  readonly certificates?: CertificateVerifier | undefined;
  /** Whether what was proven before still holds: not revoked, not expired. */
  readonly isCurrent?: (principal: Principal) => boolean;
  readonly isRevoked?: Authenticator['isRevoked'];
  readonly onChange?: Authenticator['onChange'];
}

export interface Authenticator {
  /** The caller, or AUTH_DENIED with `details.reason` and `details.fix`. */
  authenticate(request: AuthRequest): Principal | Promise<Principal>;
  /** Whether a caller that was let in may still be served. */
  isCurrent(principal: Principal): boolean;
  /**
   * Whether the credential of a call that was accepted earlier, a job say, was revoked since. One that
   * expired meanwhile, or that only another gateway knows, was not.
   */
  readonly isRevoked?: ((principal: Principal) => boolean) | undefined;
  /** Calls back when credentials were revoked or changed; returns how to stop that. */
  readonly onChange?: ((listener: () => void) => () => void) | undefined;
}

export interface KeyAuthenticator extends Authenticator {
  authenticate(request: AuthRequest): Principal;
}

type Kind = 'psk' | 'bearer' | 'passport' | 'mandate';

interface Credential {
  readonly kind: Kind;
  readonly text: string;
}

interface Proven extends Credential {
  readonly principal: Principal;
}

const FIX = 'send "Authorization: Bearer <key>" with a key that is known here';

export function createAuthenticator(options: KeyAuthenticatorOptions): KeyAuthenticator;
export function createAuthenticator(options: AuthenticatorOptions): Authenticator;
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { anonymous, isCurrent = isUnexpired } = options;
  const proven = new WeakMap<object, Proven>();
  return {
    isCurrent,
    isRevoked: options.isRevoked,
    onChange: options.onChange,
    authenticate(request) {
      if (request.transport === 'stdio') return LOCAL_PRINCIPAL;
      const credential = readCredential(request, options.mandate !== undefined);
      const { connection, certificate } = request;
      if (credential === undefined) {
        if (certificate && options.certificates) return options.certificates.verify(certificate);
        if (anonymous) return ANONYMOUS_PRINCIPAL;
        throw denied('missing', 'The request has no credentials', FIX);
      }
      const known = connection && proven.get(connection);
      const isKnown = known?.text === credential.text && known.kind === credential.kind;
      if (isKnown && isCurrent(known.principal)) return assertBound(known.principal, certificate);
      const keep = (principal: Principal) => {
        assertBound(principal, certificate);
        if (connection) proven.set(connection, { ...credential, principal });
        return principal;
      };
      const principal = verify(credential, options);
      return principal instanceof Promise ? principal.then(keep) : keep(principal);
    },
  };
}

/** Where nothing can be revoked, only time ends a credential. */
function isUnexpired({ expiresAt }: Principal): boolean {
  return expiresAt === undefined || expiresAt > Date.now();
}

function verify(
  { kind, text }: Credential,
  { psk, oauth, passport, mandate }: AuthenticatorOptions,
): Principal | Promise<Principal> {
  if (kind === 'bearer' && oauth?.isOwn(text)) return oauth.verify(text);
  if (kind === 'psk' || kind === 'bearer') {
    const principal = psk.verify(text);
    if (principal) return principal;
    throw denied('unknown_key', 'The key is not known', FIX);
  }
  const verifier = kind === 'passport' ? passport : mandate;
  if (verifier) return verifier.verify(text);
  throw denied('unsupported', 'Passports are not accepted here', FIX);
}

function readCredential(
  request: Exclude<AuthRequest, { transport: 'stdio' }>,
  takesMandates: boolean,
): Credential | undefined {
  assertNoCredentialInUrl(request.url ?? '');
  const [credential, ...more] = readCredentials(request, takesMandates);
  if (more.length === 0) return credential;
  throw denied('several_credentials', 'The request has two credentials', FIX);
}

function readCredentials(
  { transport, headers }: Exclude<AuthRequest, { transport: 'stdio' }>,
  takesMandates: boolean,
): Credential[] {
  const found: Credential[] = [];
  const add = (kind: Kind, text: string | undefined) => {
    if (text !== undefined) found.push({ kind, text });
  };
  add('passport', readToken(headers, 'x-agent-passport'));
  if (takesMandates) add('mandate', readToken(headers, 'x-agent-mandate'));
  add('bearer', readBearer(headers));
  const { bearer } = readWebSocketProtocols(valuesOf(headers, 'sec-websocket-protocol'));
  if (bearer !== undefined && transport !== 'ws' && found.length === 0) {
    throw denied('malformed', 'A bearer subprotocol is for WebSockets only', FIX);
  }
  add('psk', bearer);
  return found;
}
