// What an agent wrote, fit for `details`: bounded, without control, bidirectional and invisible
// characters, and without the secrets that we ourselves gave the agent.

import type { Manifest } from '@starloom/core';
import { withoutInvisible } from './clean-text.ts';

export type Excerpt = (text: string, part?: 'head' | 'tail') => string;

const LIMIT = 1_000;
const READ_LIMIT = 65_536;
/** Shorter values are words like "true", whose loss would only garble the text. */
const MIN_SECRET_LENGTH = 8;
/** A signed token, such as the mandate of the call. */
const TOKEN = /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g;

/** Made once per agent: it knows which values of the manifest must not come back. */
export function createExcerpt({ endpoint }: Manifest): Excerpt {
  const headers = Object.values(endpoint.headers ?? {}).flatMap((value) => [
    value,
    ...value.split(/\s+/),
  ]);
  const secrets = [...headers, ...Object.values(endpoint.env ?? {}), ...secretsOf(endpoint.options)]
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

/** What `oauth` among the options of an adapter gives. */
function secretsOf(options: Readonly<Record<string, unknown>> = {}): readonly string[] {
  const secret: unknown = Object(options.oauth).client_secret;
  return typeof secret === 'string' ? [secret] : [];
}

function redact(text: string, secrets: readonly string[]): string {
  const known = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
  return known.replace(TOKEN, '[redacted]');
}
