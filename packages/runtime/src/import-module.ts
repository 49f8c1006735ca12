import { pathToFileURL } from 'node:url';
import type { FabricError } from '@starloom/core';
import { findModule } from '@starloom/wire';

type ModuleProblem = 'not_found' | 'bad_package' | 'import_failed';

/** A package or a file that an agent names, found from the folder of the agent. */
export async function importModule(
  name: string,
  folder: string,
  toError: (problem: ModuleProblem, cause?: unknown) => FabricError,
): Promise<Readonly<Record<string, unknown>>> {
  let path: string | undefined;
  try {
    path = findModule(name, folder);
  } catch (cause) {
    throw toError('bad_package', cause);
  }
  if (path === undefined) throw toError('not_found');
  try {
    return await import(pathToFileURL(path).href);
  } catch (cause) {
    throw toError('import_failed', cause);
  }
}
