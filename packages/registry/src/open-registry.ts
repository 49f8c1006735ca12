import { join, resolve } from 'node:path';
import type { Registry } from '@starloom/core';
import {
  loadPackage,
  openPackageRegistry,
  type PackageRegistryConfig,
  type RegistryDependencies,
} from './package-registry.ts';
import type { PostgresRegistryOptions } from './postgres.ts';
import { failure } from './reasons.ts';
import type { SharedRules } from './shared-rules.ts';
import { openYamlRegistry, type YamlRegistry, type YamlRegistryOptions } from './yaml.ts';

export type RegistryConfig =
  | { readonly kind: 'yaml'; readonly path: string }
  | PackageKind
  | ({ readonly kind: 'postgres' } & PostgresConfig)
  | { readonly kind: 'etcd' };

type PackageKind = { readonly kind: 'package' } & PackageRegistryConfig;

interface PostgresConfig extends SharedRules, Pick<PostgresRegistryOptions, 'url' | 'realmKey'> {
  readonly keep_history_days: number;
  readonly node_id?: string | undefined;
  /** Where the snapshot for starts without the database is kept. */
  readonly stateFolder?: string | undefined;
}

/** Backends that can read their source again on demand have `reload`. */
type OpenedRegistry = Registry & Partial<Pick<YamlRegistry, 'reload'>>;

export async function openRegistry(
  config: RegistryConfig,
  dependencies: RegistryDependencies & Pick<YamlRegistryOptions, 'builtIn' | 'optionSchemas'>,
): Promise<OpenedRegistry> {
  switch (config.kind) {
    case 'yaml':
      return openYamlRegistry({ ...dependencies, path: resolve(dependencies.folder, config.path) });
    case 'package':
      return openPackageRegistry(config, dependencies);
    case 'postgres':
      return openShared(config, dependencies);
    default:
      throw failure('not_available', { kind: config.kind });
  }
}

async function openShared(config: PostgresConfig, { log, clock }: RegistryDependencies) {
  const { url, realmKey, commands, secrets, keep_history_days, node_id, stateFolder } = config;
  const { openPostgresRegistry } = await import('./postgres.ts');
  return await openPostgresRegistry({
    url,
    realmKey,
    rules: { commands, secrets },
    log,
    keepHistoryMs: keep_history_days * 24 * 3_600_000,
    ...(node_id !== undefined && { seenBy: node_id }),
    ...(stateFolder !== undefined && { snapshotPath: join(stateFolder, 'registry.ndjson') }),
    ...(clock && { clock }),
  });
}

/** Refuses what `openRegistry` refuses before it reaches anything outside of this machine. */
export async function assertOpenable(
  config: { readonly kind: Exclude<RegistryConfig['kind'], 'package'> } | PackageKind,
  folder: string,
): Promise<void> {
  if (config.kind === 'package') await loadPackage(config.package, folder);
  else if (config.kind === 'etcd') throw failure('not_available', { kind: config.kind });
}
