// What another program wrote, fit for `details`: bounded, without control, bidirectional and
// invisible characters, and without the secrets that we ourselves gave it.

import { withoutInvisible } from './clean-text.ts';

export type Excerpt = (text: string, part?: 'head' | 'tail') => string;

const LIMIT = 1_000;
const READ_LIMIT = 65_536;
/** Shorter values are words like "true", whose loss would only garble the text. */
const MIN_SECRET_LENGTH = 8;
/** A signed token, such as the mandate of the call. */
const TOKEN = /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g;

export interface GivenSecrets {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly others?: readonly string[];
}

/** Made once per program: it knows which values must not come back. */
export function createExcerpt({ headers = {}, env = {}, others = [] }: GivenSecrets): Excerpt {
  const sent = Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]);
  const secrets = [...sent, ...Object.values(env), ...others]
    .filter((value) => value.length >= MIN_SECRET_LENGTH)
    .sort((a, b) => b.length - a.length);
  return (text, part = 'head') => {
    const read = part === 'head' ? text.slice(0, READ_LIMIT) : text.slice(-READ_LIMIT);
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
