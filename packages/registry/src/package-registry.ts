import { pathToFileURL } from 'node:url';
import { type Clock, FabricError, type Log, type Registry } from '@starloom/core';
import { findModule } from '@starloom/wire';
import type { Env } from './endpoint-secrets.ts';
import { failure } from './reasons.ts';

export interface RegistryDependencies {
  readonly log: Log;
  /** Of the configuration: relative paths and packages are looked up from here. */
  readonly folder: string;
  readonly clock?: Clock;
  readonly env?: Env;
}

export interface PackageRegistryConfig {
  readonly package: string;
  readonly options?: Readonly<Record<string, unknown>>;
}

export interface RegistryPackage {
  openRegistry(
    options: Readonly<Record<string, unknown>>,
    dependencies: RegistryDependencies,
  ): Registry | Promise<Registry>;
}

export async function openPackageRegistry(
  { package: name, options = {} }: PackageRegistryConfig,
  dependencies: RegistryDependencies,
): Promise<Registry> {
  const loaded = await loadPackage(name, dependencies.folder);
  const registry = await open(loaded, options, dependencies).catch((cause: unknown) => {
    if (FabricError.is(cause)) throw cause;
    throw failure('package', { package: name, what: 'cannot be opened' }, { cause });
  });
  const missing = METHODS.filter((method) => !hasMethod(registry, method));
  if (missing.length === 0) return registry as Registry;
  const what = `opened a registry without ${missing.join(', ')}`;
  throw failure('package', { package: name, what, fix: 'use a newer version' });
}

/** BAD_INPUT when there is no such package, or it is none of a registry. */
export async function loadPackage(name: string, folder: string): Promise<RegistryPackage> {
  const loaded = await importPackage(name, folder).catch((cause: unknown) => {
    throw failure('package', { package: name, what: 'cannot be loaded' }, { cause });
  });
  if (!loaded) {
    const fix = `run "npm install ${name}" in ${folder}`;
    throw failure('package', { package: name, what: 'cannot be found', fix });
  }
  if (!isRegistryPackage(loaded)) {
    const fix = 'name a package that exports the function openRegistry(options, dependencies)';
    throw failure('package', { package: name, what: 'does not export openRegistry', fix });
  }
  return loaded;
}

async function importPackage(name: string, folder: string): Promise<unknown> {
  const path = findModule(name, folder);
  return path === undefined ? undefined : await import(pathToFileURL(path).href);
}

const METHODS = [
  'list',
  'get',
  'findByCapability',
  'resolveFallbacks',
  'register',
  'updateHealth',
  'updateCapabilities',
  'watch',
  'status',
  'close',
] as const satisfies readonly (keyof Registry)[];

/** What it gives is looked at before it is trusted to be a registry. */
async function open(
  { openRegistry }: RegistryPackage,
  ...given: Parameters<RegistryPackage['openRegistry']>
): Promise<unknown> {
  return openRegistry(...given);
}

function isRegistryPackage(value: unknown): value is RegistryPackage {
  return hasMethod(value, 'openRegistry');
}

function hasMethod(value: unknown, name: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return typeof (value as Record<string, unknown>)[name] === 'function';
}
