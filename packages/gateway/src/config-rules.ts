import { createPrivateKey } from 'node:crypto';
import { type Complaint, secretOrText } from '@starloom/wire/config';
import type { z } from 'zod';
import { signingAlgorithm } from './signing-algorithm.ts';

const MIN_KEY_LENGTH = 16;
const MIN_DISTINCT_CHARACTERS = 6;
const WELL_KNOWN = /^(?:changeme|secret|password|passwd|default|example|admin|starloom)+$/;

/** Refuses shared keys that somebody could guess. */
export function checkSharedKey(key: string): Complaint | undefined {
  const fix = 'use a long random key, such as the output of: openssl rand -base64 32';
  if (key.length < MIN_KEY_LENGTH) {
    return { message: `is shorter than ${MIN_KEY_LENGTH} characters`, fix };
  }
  const letters = key.toLowerCase().replace(/[^a-z]/g, '');
  if (WELL_KNOWN.test(letters) || new Set(key).size < MIN_DISTINCT_CHARACTERS) {
    return { message: 'is a well-known word or easy to guess', fix };
  }
  return undefined;
}

/** Refuses a list in which two entries have the same name. */
export function refuseSame<Key extends string>(what: string, key: Key) {
  return (entries: readonly Record<Key, string>[], context: z.RefinementCtx): void => {
    for (const [index, entry] of entries.entries()) {
      if (entries.findIndex((other) => other[key] === entry[key]) === index) continue;
      const message = `another ${what} has the same ${key}`;
      const params = { fix: `give each ${what} its own ${key}` };
      context.addIssue({ code: 'custom', message, path: [index, key], params });
    }
  };
}

/** A URL of an engine. One with a password in it must be given as a secret. */
export function connectionUrl(schemes: readonly string[]) {
  const check = (text: string): Complaint | undefined => {
    const scheme = URL.parse(text)?.protocol.slice(0, -1);
    if (scheme !== undefined && schemes.includes(scheme)) return undefined;
    const wanted = schemes.map((name) => `${name}://`).join(' or ');
    return { message: `is no ${wanted} URL`, fix: `write ${wanted}…, env:NAME or file:PATH` };
  };
  const checkText = (text: string): Complaint | undefined => {
    if (!URL.parse(text)?.password) return check(text);
    const fix = 'put the whole URL into a variable or a file, and write env:NAME or file:PATH';
    return { message: 'a password must not stand in the file', fix };
  };
  return secretOrText({ check, checkText });
}

/** Refuses what is no private key, or none that we sign with. */
export function checkSigningKey(pem: string): Complaint | undefined {
  try {
    if (signingAlgorithm(createPrivateKey(pem))) return undefined;
  } catch {
    // It is no key at all, which is said below.
  }
  const fix = 'make one with: openssl genpkey -algorithm ed25519';
  return { message: 'is no private key in PEM, Ed25519 or P-256', fix };
}
