import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FabricError } from '@starloom/core';
import type { PluginHost } from '@starloom/sdk';

const USUAL = 'env:STARLOOM_KEY';

/** What `env:NAME` or `file:PATH` stands for; without a reference there may be none. */
export async function readKey(
  reference: string | undefined,
  { env, folder }: PluginHost,
): Promise<string | undefined> {
  const [, kind, name = ''] = /^(env|file):(.+)$/.exec(reference ?? USUAL) ?? [];
  const found =
    kind === 'env'
      ? env[name]
      : await readFile(resolve(folder, name), 'utf8').catch(() => undefined);
  const key = found?.trim();
  if (key || reference === undefined) return key || undefined;
  throw new FabricError('BAD_INPUT', `The key ${reference} of the fabric plugin is not there`, {
    details: { reason: 'no_key', reference, fix: 'set the variable, or write the file' },
  });
}
