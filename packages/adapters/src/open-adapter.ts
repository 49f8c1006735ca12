import { pathToFileURL } from 'node:url';
import {
  type Adapter,
  type AdapterFactory,
  type AdapterOptions,
  closestWord,
  FabricError,
  protocolOf,
} from '@starloom/core';
import { findModule } from '@starloom/wire';
import type { z } from 'zod';
import { failure } from './reasons.ts';

interface AdapterRow {
  readonly load: () => Promise<AdapterFactory>;
  /** Of `endpoint.options`. */
  readonly options: z.ZodType;
}

export type AdapterTable = Readonly<Record<string, AdapterRow>>;

export interface OpenAdapterOptions {
  /** Where packages and relative paths are looked for; default: the working folder. */
  readonly baseFolder?: string;
}

/** A protocol of the table, or else the name or path of a module that brings an adapter. */
export async function openFrom(
  table: AdapterTable,
  options: AdapterOptions,
  { baseFolder = '.' }: OpenAdapterOptions,
): Promise<Adapter> {
  const { agent_id, endpoint } = options.manifest;
  const protocol = protocolOf(endpoint);
  const known = Object.keys(table);
  try {
    const row = Object.hasOwn(table, protocol) ? table[protocol] : undefined;
    const createAdapter = row ? await row.load() : await loadFactory(protocol, baseFolder);
    if (createAdapter === undefined) throw unknownProtocol(protocol, known);
    const adapter: unknown = await createAdapter({ baseFolder, ...options });
    if (isAdapter(adapter)) return adapter;
    throw failure('not_an_adapter', { protocol });
  } catch (error) {
    throw FabricError.from(error).with({ agent_id, protocol, known });
  }
}

function isAdapter(value: unknown): value is Adapter {
  if (typeof value !== 'object' || value === null) return false;
  const methods = ['call', 'health', 'describe', 'close'];
  return methods.every((name) => typeof Reflect.get(value, name) === 'function');
}

function unknownProtocol(protocol: string, known: readonly string[]): FabricError {
  const meant = closestWord(protocol, known);
  const install = 'or install the package of that name into your project';
  const fix = meant && `write "${meant}" if you meant that, ${install}`;
  return failure('unknown_protocol', { protocol, fix });
}

/**
 * Adapters that other packages bring. A protocol may be the name of a package or the path of a
 * module, found from the user's project; it exports `createAdapter`. `undefined` when there is no
 * such module; BAD_INPUT when there is one that brings no adapter.
 */
async function loadFactory(
  protocol: string,
  baseFolder: string,
): Promise<AdapterFactory | undefined> {
  const path = find(protocol, baseFolder);
  if (path === undefined) return undefined;
  const { createAdapter } = await importModule(protocol, path);
  if (typeof createAdapter === 'function') return createAdapter as AdapterFactory;
  throw failure('no_factory', { protocol });
}

function find(protocol: string, baseFolder: string): string | undefined {
  try {
    return findModule(protocol, baseFolder);
  } catch (cause) {
    throw failure('bad_package', { protocol }, { cause });
  }
}

async function importModule(protocol: string, path: string): Promise<Record<string, unknown>> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (cause) {
    throw failure('import_failed', { protocol }, { cause });
  }
}
