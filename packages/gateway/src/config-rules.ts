import { createPrivateKey } from 'node:crypto';
import { signingAlgorithm } from '@starloom/a2a';
import type { Complaint } from '@starloom/config';
import { scopeProblem } from '@starloom/identity';
import { z } from 'zod';

const MIN_KEY_LENGTH = 16;
const MIN_DISTINCT_CHARACTERS = 6;
/** Words and runs of which sample and default keys are made; what is left must be hard to guess. */
const WELL_KNOWN =
  /change-?me|change|replace|insert|place-?holder|put|your|my|the|this|here|me|with|real|for|secret|shared|password|passwd|default|example|sample|dummy|admin|starloom|fabric|agent|gateway|dev|local|test|salt|token|api|psk|key|bearer|sk|slk|letmein|qwerty|(.)\1{3,}|0?1234567890?|abcdef(?:gh)?|deadbeef|[^a-z0-9]+/g;
const MIN_UNKNOWN = 8;

/** Refuses shared keys that an attacker could guess, and those of samples. */
export function checkSharedKey(key: string): Complaint | undefined {
  const fix = 'use a long random key: "starloom keys create", or openssl rand -base64 32';
  if (key.length < MIN_KEY_LENGTH) {
    return { message: `is shorter than ${MIN_KEY_LENGTH} characters`, fix };
  }
  const unknown = key.toLowerCase().replace(WELL_KNOWN, '');
  const isGuessable = unknown.length < MIN_UNKNOWN || new Set(key).size < MIN_DISTINCT_CHARACTERS;
  if (isGuessable || isRepeated(key)) {
    return { message: 'is a well-known word, a sample or easy to guess', fix };
  }
  return undefined;
}

const MIN_REALM_BYTES = 32;

/** Refuses what is shorter than 32 bytes in base64url. */
export function checkRealmKey(key: string): Complaint | undefined {
  const bytes = Buffer.from(key, 'base64url');
  const isWhole = /^[\w-]+$/.test(key) && bytes.length >= MIN_REALM_BYTES;
  if (isWhole && new Set(bytes).size >= MIN_REALM_BYTES / 4) return undefined;
  const fix = 'make one with "starloom keys realm", the same for all gateways';
  return { message: `is no base64url of ${MIN_REALM_BYTES} random bytes or more`, fix };
}

/** A short text over and over: `hunter2hunter2hunter2`. */
function isRepeated(key: string): boolean {
  return `${key}${key}`.indexOf(key, 1) < key.length;
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

export const ownScopeSchema = z.string().superRefine((scope, context) => {
  const message = scopeProblem(scope);
  if (message) context.addIssue({ code: 'custom', message });
});

export const scopesSchema = z
  .array(ownScopeSchema)
  .default(['*'])
  .describe('What such a caller may use, as globs: agent:…, capability:agent/name, toolset:…');

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
