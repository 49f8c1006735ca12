// Finds the bearer credential of a request. A credential that is there but cannot be read is an
// error, never "none": otherwise a slip of the client would give it another identity.

import { isBearerText } from './bearer-text.ts';
import { denied } from './denied.ts';
import { KEY_PREFIX } from './generate-key.ts';

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

export interface WebSocketProtocols {
  readonly bearer: string | undefined;
  /** What the client offers besides; the server must choose among these, never the bearer. */
  readonly protocols: readonly string[];
}

const FIX_HEADER = 'send one header "Authorization: Bearer <key>"';
const FIX_PROTOCOL = 'offer the subprotocol "bearer.<base64url of the key>" once, beside "mcp"';
const BEARER_PREFIX = 'bearer.';
/** Of passports and mandates, in characters. */
export const MAX_TOKEN_LENGTH = 8_192;
const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'x-agent-passport',
  'x-agent-mandate',
  'sec-websocket-protocol',
]);
const CREDENTIAL_LENGTHS: ReadonlySet<number> = new Set(
  Array.from(CREDENTIAL_HEADERS, ({ length }) => length),
);
const NO_PROTOCOLS: WebSocketProtocols = { bearer: undefined, protocols: [] };

/** The key in `Authorization: Bearer <key>`; `undefined` when there is no such header. */
export function readBearer(headers: RequestHeaders): string | undefined {
  const [value, ...more] = valuesOf(headers, 'authorization');
  if (value === undefined) return undefined;
  if (more.length > 0) {
    throw denied('several_credentials', 'The request has two Authorization headers', FIX_HEADER);
  }
  const [, bearer] = /^Bearer +(\S+)$/i.exec(value) ?? [];
  if (bearer !== undefined && isBearerText(bearer)) return bearer;
  throw denied('malformed', 'The Authorization header is not "Bearer <key>"', FIX_HEADER);
}

/** The token in a header of its own; `undefined` when there is no such header. */
export function readToken(headers: RequestHeaders, name: string): string | undefined {
  const [value, ...more] = valuesOf(headers, name);
  if (value === undefined) return undefined;
  const fix = `send one header "${name}" with one token in it`;
  if (more.length > 0) {
    throw denied('several_credentials', `The request has two headers "${name}"`, fix);
  }
  const token = value.trim();
  if (token !== '' && token.length <= MAX_TOKEN_LENGTH) return token;
  throw denied('malformed', `The header "${name}" is empty or too long`, fix);
}

/** Splits `Sec-WebSocket-Protocol` into the credential, if there is one, and the protocols. */
export function readWebSocketProtocols(
  header: string | readonly string[] | undefined,
): WebSocketProtocols {
  if (header === undefined || header.length === 0) return NO_PROTOCOLS;
  const offered = [header]
    .flat()
    .flatMap((line) => line.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const [bearer, ...more] = offered.filter(isCredential);
  if (more.length > 0) {
    throw denied('several_credentials', 'Two bearer subprotocols are offered', FIX_PROTOCOL);
  }
  return {
    bearer: bearer === undefined ? undefined : decodeBearer(bearer),
    protocols: offered.filter((name) => !isCredential(name)),
  };
}

/** Refuses a URL with a credential in it: URLs end up in logs, histories and referrers. */
export function assertNoCredentialInUrl(url: string): void {
  if (!/[?@]/.test(url)) return;
  const fix = `take it out of the URL and ${FIX_HEADER}; make a new key, since URLs are logged`;
  const parsed = URL.parse(url, 'http://localhost');
  if (!parsed) throw denied('malformed', 'The URL of the request cannot be read', FIX_HEADER);
  const named = [...parsed.searchParams].some(([name, value]) => {
    const isSecret = value.startsWith(KEY_PREFIX) || LOOKS_LIKE_TOKEN.test(value);
    return isSecret || CREDENTIAL_PARAMETERS.has(fold(name));
  });
  if (!named && parsed.username === '' && parsed.password === '') return;
  throw denied('credential_in_url', 'Credentials in the URL are not accepted', fix);
}

/** The values of a header, whatever the case of its name. */
export function valuesOf(headers: RequestHeaders, wanted: string): readonly string[] {
  let values: readonly string[] = NONE;
  for (const name in headers) {
    if (name.length !== wanted.length || name.toLowerCase() !== wanted) continue;
    const found = headers[name] ?? NONE;
    values = values.concat(found);
  }
  return values;
}

const NONE: readonly string[] = [];

/** A JWT, whatever the parameter is called. */
const LOOKS_LIKE_TOKEN = /^eyJ[\w-]+\.[\w-]+\./;

const CREDENTIAL_PARAMETERS: ReadonlySet<string> = new Set([
  'accesstoken',
  'apikey',
  'auth',
  'authorization',
  'bearer',
  'key',
  'mandate',
  'passport',
  'psk',
  'secret',
  'token',
  'xagentmandate',
  'xagentpassport',
]);

function fold(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}

/** Also one in the wrong case or without its key: it was meant as a credential. */
function isCredential(name: string): boolean {
  return /^bearer(?:\.|$)/i.test(name);
}

function decodeBearer(name: string): string {
  const encoded = name.startsWith(BEARER_PREFIX) ? name.slice(BEARER_PREFIX.length) : '';
  const bytes = Buffer.from(encoded, 'base64url');
  const bearer = bytes.toString('latin1');
  if (bytes.toString('base64url') === encoded && isBearerText(bearer)) return bearer;
  throw denied('malformed', 'The bearer subprotocol cannot be read', FIX_PROTOCOL);
}
