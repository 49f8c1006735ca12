import { resolve } from 'node:path';
import { FabricError, type Registry } from '@starloom/core';
import {
  loadPackage,
  openPackageRegistry,
  type PackageRegistryConfig,
  type RegistryDependencies,
} from './package-registry.ts';
import { openYamlRegistry, type YamlRegistry, type YamlRegistryOptions } from './yaml.ts';

/** The `registry` setting of the gateway. */
export type RegistryConfig =
  | { readonly kind: 'yaml'; readonly path: string }
  | ({ readonly kind: 'package' } & PackageRegistryConfig)
  | { readonly kind: 'postgres' | 'etcd' };

/** Backends that can read their source again on demand have `reload`. */
export type OpenedRegistry = Registry & Partial<Pick<YamlRegistry, 'reload'>>;

export async function openRegistry(
  config: RegistryConfig,
  dependencies: RegistryDependencies & Pick<YamlRegistryOptions, 'builtIn' | 'optionSchemas'>,
): Promise<OpenedRegistry> {
  switch (config.kind) {
    case 'yaml':
      return openYamlRegistry({
        ...dependencies,
        path: resolve(dependencies.folder, config.path),
      });
    case 'package':
      return openPackageRegistry(config, dependencies);
    default:
      throw notAvailable(config.kind);
  }
}

/** Refuses what `openRegistry` refuses before it reaches anything outside of this machine. */
export async function assertOpenable(config: RegistryConfig, folder: string): Promise<void> {
  if (config.kind === 'package') await loadPackage(config.package, folder);
  else if (config.kind !== 'yaml') throw notAvailable(config.kind);
}

function notAvailable(kind: string): FabricError {
  const available = ['yaml', 'package'];
  return new FabricError('BAD_INPUT', `The registry kind "${kind}" is not available`, {
    details: { reason: 'not_available', kind, available, fix: `use ${available.join(' or ')}` },
  });
}
