import { stripVTControlCharacters } from 'node:util';

/** What an agent wrote, for lists that others read: clean and at most `length` characters. */
export function cleanText(text: unknown, length: number): string | undefined {
  if (typeof text !== 'string') return undefined;
  const clean = withoutInvisible(text.slice(0, 2 * length)).trim();
  return clean.length <= length ? clean : `${clean.slice(0, length - 1)}…`.toWellFormed();
}

/** Without escape sequences, control, bidirectional and invisible characters, variation selectors too. */
export function withoutInvisible(text: string): string {
  return stripVTControlCharacters(text).replace(/[^\P{C}\n\t]|\p{DI}/gu, '');
}

/** Whether it has characters that are not seen, but read by a model; line breaks are none of them. */
export function hasHidden(text: string): boolean {
  return stripVTControlCharacters(text) !== text || /[^\P{C}\p{Cc}]|\p{DI}/u.test(text);
}

export type Excerpt = (text: string, part?: 'head' | 'tail') => string;

const LIMIT = 1_000;
const MAX_READ = 65_536;
/** Shorter values are words like "true", whose loss would only garble the text. */
const MIN_SECRET_LENGTH = 8;
/** A signed token, such as the mandate of the call. */
const TOKEN = /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g;

interface GivenSecrets {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly others?: readonly string[];
}

/**
 * What another program wrote, fit for `details`: bounded, clean, and without the secrets that we ourselves
 * gave it. Made once per program: it knows which values must not come back.
 */
export function createExcerpt({ headers = {}, env = {}, others = [] }: GivenSecrets): Excerpt {
  const sent = Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]);
  const secrets = [...sent, ...Object.values(env), ...others]
    .filter((value) => value.length >= MIN_SECRET_LENGTH)
    .sort((a, b) => b.length - a.length);
  return (text, part = 'head') => {
    const read = part === 'head' ? text.slice(0, MAX_READ) : text.slice(-MAX_READ);
    const clean = redact(withoutInvisible(read), secrets).trim();
    if (clean.length <= LIMIT) return clean;
    const cut = part === 'head' ? `${clean.slice(0, LIMIT)}…` : `…${clean.slice(-LIMIT)}`;
    return cut.toWellFormed();
  };
}

function redact(text: string, secrets: readonly string[]): string {
  const known = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
  return known.replace(TOKEN, '[redacted]');
}
