import { resolve } from 'node:path';
import { type KeyPath, toKey } from './key-path.ts';
import type { ConfigSchemaProblem } from './problem.ts';
import { readTextFile } from './read-source.ts';
import { type Schema, visitTexts } from './schema-shape.ts';
import { type Complaint, isReference, Secret, type SecretRules, secretSchemas } from './secret.ts';

const MAX_SECRET_BYTES = 64 * 1024;
/** Lists of revoked certificates grow long. */
const MAX_PUBLIC_BYTES = 4 * 1024 ** 2;
const READABLE_BY_OTHERS = 0o077;

/**
 * Fetches every secret that `value` names, by its key, such as `auth.psk[0].key`; `folder` is where
 * relative `file:` paths begin.
 */
export async function resolveSecrets(
  schema: Schema,
  value: unknown,
  from: { readonly env: Readonly<Record<string, string | undefined>>; readonly folder: string },
) {
  const secrets = new Map<string, Secret>();
  const problems: ConfigSchemaProblem[] = [];
  const warnings: ConfigSchemaProblem[] = [];
  for (const { path, reference, rules } of findReferences(schema, value)) {
    const found = reference.startsWith('env:')
      ? fromVariable(reference.slice(4), from.env)
      : await fromFile(reference.slice(5), from.folder, rules);
    const complaint = 'value' in found ? check(found.value, reference, rules) : found.complaint;
    if ('warning' in found) warnings.push({ path, at: 'value', ...found.warning });
    if (complaint !== undefined) problems.push({ path, at: 'value', ...complaint });
    else if ('value' in found) secrets.set(toKey(path), new Secret(reference, found.value));
  }
  return { secrets, problems, warnings };
}

type Found = { value: string; warning?: Complaint } | { complaint: Complaint };

function findReferences(schema: Schema, value: unknown) {
  const found = new Map<string, { path: KeyPath; reference: string; rules: SecretRules }>();
  visitTexts(schema, value, (path, reference, alternative) => {
    const rules = secretSchemas.get(alternative)?.rules;
    if (rules !== undefined && isReference(reference)) {
      found.set(toKey(path), { path, reference, rules });
    }
  });
  return found.values();
}

function fromVariable(name: string, env: Readonly<Record<string, string | undefined>>): Found {
  const value = env[name];
  if (value) return { value };
  const complaint =
    value === undefined
      ? { message: 'is not set', fix: `set ${name} in the environment of this process` }
      : { message: 'is empty', fix: `give ${name} a value` };
  return { complaint: { ...complaint, message: `the variable ${name} ${complaint.message}` } };
}

async function fromFile(name: string, folder: string, rules: SecretRules): Promise<Found> {
  const { isPublic = false } = rules;
  const limit = isPublic ? MAX_PUBLIC_BYTES : MAX_SECRET_BYTES;
  const read = await readTextFile(resolve(folder, name), limit);
  if (!read.ok) {
    const message = `the secret file ${name} cannot be used: ${read.reason}`;
    return { complaint: { message, fix: `put the secret into ${name}, alone on one line` } };
  }
  const value = read.text.replace(/\r?\n$/, '');
  if (value === '') {
    const message = `the secret file ${name} is empty`;
    return { complaint: { message, fix: `put the secret into ${name}` } };
  }
  const isOpen = (read.mode & READABLE_BY_OTHERS) !== 0 && process.platform !== 'win32';
  if (isPublic || !isOpen) return { value };
  const message = `the secret file ${name} can be read by other users`;
  return { value, warning: { message, fix: `chmod 600 ${name}` } };
}

function check(value: string, reference: string, rules: SecretRules): Complaint | undefined {
  const complaint = rules.check?.(value);
  if (complaint === undefined) return undefined;
  return { message: `the value of ${reference} ${complaint.message}`, fix: complaint.fix };
}
