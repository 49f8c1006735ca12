// Secrets stand in no file: a configuration names them, `env:NAME` or `file:PATH`, and the loader
// puts the value into a Secret. A Secret shows its reference wherever it is printed; only
// `reveal()` gives the value.

import { inspect } from 'node:util';
import { FabricError } from '@starloom/core';
import { z } from 'zod';
import { type KeyPath, toKey } from './key-path.ts';

export class Secret {
  readonly reference: string;
  readonly #value: string | undefined;

  constructor(reference: string, value?: string) {
    this.reference = reference;
    this.#value = value;
  }

  reveal(): string {
    if (this.#value !== undefined) return this.#value;
    throw new FabricError('INTERNAL', `The secret ${this.reference} was not resolved`, {
      details: { fix: 'load the configuration with resolveSecrets' },
    });
  }

  toString(): string {
    return `[secret ${this.reference}]`;
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }
}

/** What is wrong with a value, in words that do not show it. */
export interface Complaint {
  readonly message: string;
  readonly fix: string;
}

export interface SecretRules {
  /** Looks at the value once it is known. */
  readonly check?: (value: string) => Complaint | undefined;
  /** Others may read its file: a certificate, say. */
  readonly isPublic?: boolean;
}

/** Which schemas take secrets; the loader finds them here. */
export const secretSchemas = z.registry<{ readonly rules: SecretRules }>();

const REFERENCE = /^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$/;
const LITERAL: Complaint = {
  message: 'the secret is plain text in this file',
  fix: 'write env:NAME or file:PATH in its place',
};

export function isReference(text: string): boolean {
  return REFERENCE.test(text);
}

/** A key of a configuration that takes `env:NAME` or `file:PATH`, and nothing else. */
export function secret(rules: SecretRules = {}) {
  return referenceText(rules, () => LITERAL)
    .meta({ pattern: REFERENCE.source })
    .transform((reference) => new Secret(reference));
}

/**
 * A key that takes a secret or plain text, such as a URL that may carry a password. `checkText`
 * says why a text is refused.
 */
export function secretOrText(
  rules: SecretRules & { readonly checkText: (text: string) => Complaint | undefined },
) {
  return referenceText(rules, rules.checkText).transform((text) =>
    isReference(text) ? new Secret(text) : text,
  );
}

export function revealText(value: string | Secret): string {
  return typeof value === 'string' ? value : value.reveal();
}

function referenceText(rules: SecretRules, checkText: (text: string) => Complaint | undefined) {
  const schema = z.string().superRefine((text, context) => {
    const complaint = isReference(text) ? undefined : checkText(text);
    if (complaint === undefined) return;
    const { message, fix } = complaint;
    context.addIssue({ code: 'custom', message, params: { fix } });
  });
  secretSchemas.add(schema, { rules });
  return schema;
}

/** Puts the resolved secrets in their places, and freezes the value all the way down. */
export function freeze<T>(value: T, secrets: ReadonlyMap<string, Secret>, path: KeyPath = []): T {
  if (value instanceof Secret) return (secrets.get(toKey(path)) ?? value) as T & Secret;
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const entries = value as Record<string | number, unknown>;
  for (const key of Object.keys(entries)) {
    const segment = Array.isArray(value) ? Number(key) : key;
    entries[key] = freeze(entries[key], secrets, [...path, segment]);
  }
  return Object.freeze(value);
}

/** The value with each Secret as the reference that names it. */
export function toReferences(value: unknown): unknown {
  if (value instanceof Secret) return value.reference;
  if (Array.isArray(value)) return value.map(toReferences);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toReferences(item)]));
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
    return { message: 'the password is plain text in this file', fix };
  };
  return secretOrText({ check, checkText });
}
