// Who calls? There is no chain of ways to try: the one credential that a request shows decides, and
// one that does not hold is refused even where callers without any are let in. Another kind of
// credential is one more line in `readCredentials` and one more verifier. A credential that is there but
// cannot be read is an error, never "none": otherwise a slip of the client would give it another identity.

import { assertNoCredentialInUrl, readWebSocketProtocols } from './credential-carriers.ts';
import { assertBound, type CertificateVerifier, type ClientCertificate } from './mtls.ts';
import { ANONYMOUS_PRINCIPAL, LOCAL_PRINCIPAL, type Principal } from './principal.ts';
import { BEARER_TEXT, type KnownKeys, type PskVerifier } from './psk.ts';
import { failure } from './reasons.ts';
import { MAX_TOKEN_LENGTH } from './tokens/claims.ts';

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
interface BearerVerifier extends TokenVerifier {
  /** Whether a bearer credential is one of its tokens, whatever it is worth. */
  isOwn(bearer: string): boolean;
}

interface KeyAuthenticatorOptions {
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
  readonly keys?: KnownKeys | undefined;
}

interface KeyAuthenticator extends Authenticator {
  authenticate(request: AuthRequest): Principal;
}

type Kind = 'psk' | 'bearer' | 'passport' | 'mandate';

interface Credential {
  readonly kind: Kind;
  readonly text: string;
}

interface Proven extends Credential {
  readonly principal: Principal;
  /** The header that it came in, where that is `Authorization`. */
  readonly header: string | undefined;
}

export function createAuthenticator(options: KeyAuthenticatorOptions): KeyAuthenticator;
export function createAuthenticator(options: AuthenticatorOptions): Authenticator;
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { anonymous, isCurrent = isUnexpired } = options;
  const proven = new WeakMap<object, Proven>();
  return {
    isCurrent,
    isRevoked: options.isRevoked,
    onChange: options.onChange,
    keys: options.psk.keys,
    authenticate(request) {
      if (request.transport === 'stdio') return LOCAL_PRINCIPAL;
      const { connection, certificate } = request;
      const known = connection && proven.get(connection);
      const header = onlyBearer(request.headers);
      const isRepeated = known !== undefined && header !== undefined && header === known.header;
      const credential = readCredential(request, isRepeated ? known : undefined, options);
      if (credential === undefined) {
        if (certificate && options.certificates) return options.certificates.verify(certificate);
        if (anonymous) return ANONYMOUS_PRINCIPAL;
        throw failure('missing');
      }
      const isKnown = known?.text === credential.text && known.kind === credential.kind;
      if (isKnown && isCurrent(known.principal)) {
        const { principal } = known;
        return principal.boundTo === undefined ? principal : assertBound(principal, certificate);
      }
      const keep = (principal: Principal) => {
        assertBound(principal, certificate);
        const { kind, text } = credential;
        if (connection) proven.set(connection, { kind, text, principal, header });
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
    throw failure('unknown_key');
  }
  const verifier = kind === 'passport' ? passport : mandate;
  if (verifier) return verifier.verify(text);
  throw failure('unsupported');
}

/** The value of `Authorization` where that came once, and nothing else with a credential in it. */
function onlyBearer(headers: RequestHeaders): string | undefined {
  for (const name in headers) if (name !== 'authorization') return undefined;
  const { authorization } = headers;
  if (typeof authorization === 'string') return authorization;
  return authorization?.length === 1 ? authorization[0] : undefined;
}

/** `repeated` is what the same header held before. */
function readCredential(
  request: Exclude<AuthRequest, { transport: 'stdio' }>,
  repeated: Credential | undefined,
  { mandate }: AuthenticatorOptions,
): Credential | undefined {
  if (request.url !== undefined && /[?@]/.test(request.url)) assertNoCredentialInUrl(request.url);
  if (repeated) return repeated;
  const [credential, ...more] = readCredentials(request, mandate !== undefined);
  if (more.length === 0) return credential;
  throw failure('several_credentials');
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
  const protocols = valuesOf(headers, 'sec-websocket-protocol');
  if (protocols.length === 0) return found;
  const { bearer } = readWebSocketProtocols(protocols);
  if (bearer !== undefined && transport !== 'ws' && found.length === 0) {
    throw failure('malformed/http');
  }
  add('psk', bearer);
  return found;
}

/** Headers as Node gives them; with `pickCredentials` a repeated header is seen as such. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Of all headers of a request, as they came: those with a credential in them, each as often as it came. */
export function pickCredentials(rawHeaders: readonly string[]): RequestHeaders {
  const picked: Record<string, string[]> = {};
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (!CREDENTIAL_LENGTHS.has(name.length)) continue;
    const known = name.toLowerCase();
    if (!CREDENTIAL_HEADERS.has(known)) continue;
    const values = picked[known];
    if (values) values.push(rawHeaders[at + 1] ?? '');
    else picked[known] = [rawHeaders[at + 1] ?? ''];
  }
  return picked;
}

const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'x-agent-passport',
  'x-agent-mandate',
  'sec-websocket-protocol',
]);
const CREDENTIAL_LENGTHS: ReadonlySet<number> = new Set(
  Array.from(CREDENTIAL_HEADERS, ({ length }) => length),
);

/** The key in `Authorization: Bearer <key>`; `undefined` when there is no such header. */
export function readBearer(headers: RequestHeaders): string | undefined {
  const [value, ...more] = valuesOf(headers, 'authorization');
  if (value === undefined) return undefined;
  if (more.length > 0) throw failure('several_credentials/bearer');
  const [, bearer] = /^Bearer +(\S+)$/i.exec(value) ?? [];
  if (bearer !== undefined && BEARER_TEXT.test(bearer)) return bearer;
  throw failure('malformed/bearer');
}

/** The token in a header of its own; `undefined` when there is no such header. */
function readToken(headers: RequestHeaders, name: string): string | undefined {
  const [value, ...more] = valuesOf(headers, name);
  if (value === undefined) return undefined;
  if (more.length > 0) throw failure('several_credentials/token', { header: name });
  const token = value.trim();
  if (token !== '' && token.length <= MAX_TOKEN_LENGTH) return token;
  throw failure('malformed/header', { header: name });
}

/** The values of a header, whatever the case of its name. */
function valuesOf(headers: RequestHeaders, wanted: string): readonly string[] {
  let values: readonly string[] = NONE;
  for (const name in headers) {
    if (name.length !== wanted.length || name.toLowerCase() !== wanted) continue;
    const found = headers[name] ?? NONE;
    values = values.concat(found);
  }
  return values;
}

const NONE: readonly string[] = [];
