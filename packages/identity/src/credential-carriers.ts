// Credentials that have no header of their own: in the list of WebSocket protocols, where browsers must put
// them, and in URLs, where they are refused.

import { BEARER_TEXT, KEY_PREFIX } from './psk.ts';
import { failure } from './reasons.ts';

interface WebSocketProtocols {
  readonly bearer: string | undefined;
  /** What the client offers besides; the server must choose among these, never the bearer. */
  readonly protocols: readonly string[];
}

const BEARER_PREFIX = 'bearer.';

/** Splits `Sec-WebSocket-Protocol` into the credential, if there is one, and the protocols. */
export function readWebSocketProtocols(
  header: string | readonly string[] | undefined,
): WebSocketProtocols {
  const offered = [header ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const [bearer, ...more] = offered.filter(isCredential);
  if (more.length > 0) throw failure('several_credentials/protocol');
  return {
    bearer: bearer === undefined ? undefined : decodeBearer(bearer),
    protocols: offered.filter((name) => !isCredential(name)),
  };
}

/** Also one in the wrong case or without its key: it was meant as a credential. */
function isCredential(name: string): boolean {
  return /^bearer(?:\.|$)/i.test(name);
}

function decodeBearer(name: string): string {
  const encoded = name.startsWith(BEARER_PREFIX) ? name.slice(BEARER_PREFIX.length) : '';
  const bytes = Buffer.from(encoded, 'base64url');
  const bearer = bytes.toString('latin1');
  if (bytes.toString('base64url') === encoded && BEARER_TEXT.test(bearer)) return bearer;
  throw failure('malformed/protocol');
}

/** Refuses a URL with a credential in it: URLs end up in logs, histories and referrers. */
export function assertNoCredentialInUrl(url: string): void {
  const parsed = URL.parse(url, 'http://localhost');
  if (!parsed) throw failure('malformed/url');
  const named = [...parsed.searchParams].some(([name, value]) => {
    const isSecret = value.startsWith(KEY_PREFIX) || LOOKS_LIKE_TOKEN.test(value);
    return isSecret || CREDENTIAL_PARAMETERS.has(fold(name));
  });
  if (!named && parsed.username === '' && parsed.password === '') return;
  throw failure('credential_in_url');
}

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
