// Adapters that other packages bring. A protocol may be the name of a package or the path of a
// module, found from the user's project; it exports `createAdapter`.

import { pathToFileURL } from 'node:url';
import { type AdapterFactory, FabricError } from '@starloom/core';
import { findModule } from '@starloom/wire';

/** `undefined` when there is no such module; BAD_INPUT when there is one that brings no adapter. */
export async function loadFactory(
  protocol: string,
  baseFolder: string,
): Promise<AdapterFactory | undefined> {
  const path = find(protocol, baseFolder);
  if (path === undefined) return undefined;
  const { createAdapter } = await importModule(protocol, path);
  if (isFactory(createAdapter)) return createAdapter;
  throw loadError(protocol, 'no_factory', 'export a function createAdapter from it');
}

function find(protocol: string, baseFolder: string): string | undefined {
  try {
    return findModule(protocol, baseFolder);
  } catch (cause) {
    throw loadError(protocol, 'bad_package', 'its package.json leads to no module', cause);
  }
}

async function importModule(protocol: string, path: string): Promise<Record<string, unknown>> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (cause) {
    throw loadError(protocol, 'import_failed', 'see in the log why it cannot be loaded', cause);
  }
}

function isFactory(value: unknown): value is AdapterFactory {
  return typeof value === 'function';
}

function loadError(protocol: string, reason: string, fix: string, cause?: unknown): FabricError {
  return new FabricError('BAD_INPUT', `"${protocol}" does not bring an adapter`, {
    details: { protocol, reason, fix },
    ...(cause === undefined ? {} : { cause }),
  });
}
