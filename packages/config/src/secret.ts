// Secrets stand in no file: a configuration names them, `env:NAME` or `file:PATH`, and the loader
// puts the value into a Secret. A Secret shows its reference wherever it is printed; only
// `reveal()` gives the value.

import { inspect } from 'node:util';
import { FabricError } from '@starloom/core';
import { z } from 'zod';

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

/** The text of a key made by `secretOrText`. */
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
