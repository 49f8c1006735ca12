// The values of an endpoint's `env`, `headers`, `tls` and `options.oauth` may be secrets, written as
// `env:NAME` or `file:PATH`; in a header also behind its scheme, `Bearer env:NAME`. A registry keeps
// the references: what it lists holds no secret. Only an adapter that is about to be opened gets the
// values, by `resolveEndpoint`.

import { resolve } from 'node:path';
import { loadConfig, problemsOf, revealText, secretOrText } from '@starloom/config';
import { FabricError, type Manifest } from '@starloom/core';
import { z } from 'zod';
import { failure } from './reasons.ts';

export type Env = Readonly<Record<string, string | undefined>>;

const SETTINGS = ['env', 'headers', 'tls', 'oauth'] as const;

const settingsSchema = z.record(z.string(), secretOrText({ checkText: () => undefined }));
const secretsSchema = z.strictObject({
  env: settingsSchema.optional(),
  headers: settingsSchema.optional(),
  tls: settingsSchema.optional(),
  oauth: settingsSchema.optional(),
});

/** The manifest with the values of its secrets, for an adapter. AGENT_OFFLINE when one is missing. */
export async function resolveEndpoint(manifest: Manifest, env: Env): Promise<Manifest> {
  const { agent_id } = manifest;
  const bare = withSettings(manifest, (value, key) => splitScheme(value, key).rest);
  const flags = SETTINGS.flatMap((key) => {
    const value = settingsOf(bare, key);
    return value === undefined ? [] : { name: `agent ${agent_id}`, path: [key], value };
  });
  if (flags.length === 0) return manifest;
  try {
    const { value } = await loadConfig({ schema: secretsSchema, env, flags });
    return withSettings(manifest, (text, key, name) => {
      return splitScheme(text, key).scheme + revealText(value[key]?.[name] ?? '');
    });
  } catch (error) {
    throw missingSecret(agent_id, error);
  }
}

/** The manifest with paths of secret files that begin at `folder` written out. */
export function anchorSecretFiles(manifest: Manifest, folder: string): Manifest {
  return withSettings(manifest, (value, key) => {
    const { scheme, rest } = splitScheme(value, key);
    if (!rest.startsWith('file:')) return value;
    return `${scheme}file:${resolve(folder, rest.slice('file:'.length))}`;
  });
}

/** The names of variables and paths of files that the manifest refers to. */
export function referencesIn(manifest: Manifest): string[] {
  return SETTINGS.flatMap((key) =>
    Object.values(settingsOf(manifest, key) ?? {}).flatMap((value) => {
      const [, name] = /^(?:env|file):(.*)$/s.exec(splitScheme(value, key).rest) ?? [];
      return name === undefined ? [] : [name];
    }),
  );
}

/** `Bearer env:TOKEN` of a header: its scheme, and the reference behind it. */
function splitScheme(value: string, key: Setting): { scheme: string; rest: string } {
  const [, scheme = '', rest = value] =
    key === 'headers' ? (/^(\w+ )((?:env|file):.+)$/.exec(value) ?? []) : [];
  return { scheme, rest };
}

type Setting = (typeof SETTINGS)[number];

function withSettings(
  manifest: Manifest,
  change: (value: string, key: Setting, name: string) => string,
): Manifest {
  let changed = manifest;
  for (const key of SETTINGS) {
    const before = settingsOf(manifest, key);
    if (before === undefined) continue;
    const after = Object.entries(before).map(([name, value]) => [name, change(value, key, name)]);
    const endpoint = withSetting(changed.endpoint, key, Object.fromEntries(after));
    changed = { ...changed, endpoint };
  }
  return changed;
}

/** The texts among them; `undefined` where there are none. */
function settingsOf({ endpoint }: Manifest, key: Setting): Record<string, string> | undefined {
  if (key === 'env' || key === 'headers') return endpoint[key];
  const settings: unknown = key === 'tls' ? endpoint.tls : endpoint.options?.oauth;
  if (typeof settings !== 'object' || settings === null) return undefined;
  const texts = Object.entries(settings).filter(([, value]) => typeof value === 'string');
  return texts.length === 0 ? undefined : Object.fromEntries(texts);
}

function withSetting(endpoint: Manifest['endpoint'], key: Setting, after: Record<string, string>) {
  if (key !== 'oauth') return { ...endpoint, [key]: after };
  const oauth = { ...(endpoint.options?.oauth as object), ...after };
  return { ...endpoint, options: { ...endpoint.options, oauth } };
}

/** Callers learn which setting it is; the names of variables and files are for the log. */
function missingSecret(agentId: string, error: unknown): FabricError {
  const settings = problemsOf(error)?.map(({ key }) => key);
  if (settings === undefined) return FabricError.from(error);
  const where = settings.join(', ');
  return failure('secret_missing', { agent_id: agentId, where, settings }, { cause: error });
}
