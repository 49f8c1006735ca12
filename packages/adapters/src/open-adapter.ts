import {
  type Adapter,
  type AdapterFactory,
  type AdapterOptions,
  closestWord,
  FabricError,
  protocolOf,
} from '@starloom/core';
import type { z } from 'zod';
import { loadFactory } from './load-factory.ts';

export interface AdapterRow {
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
    throw notAnAdapter(protocol);
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
  const hint = meant === undefined ? 'use a known protocol' : `write "${meant}" if you meant that`;
  return new FabricError('BAD_INPUT', `No adapter speaks "${protocol}"`, {
    details: {
      reason: 'unknown_protocol',
      fix: `${hint}, or install the package of that name into your project`,
    },
  });
}

function notAnAdapter(protocol: string): FabricError {
  return new FabricError('BAD_INPUT', `"${protocol}" does not bring an adapter`, {
    details: {
      reason: 'not_an_adapter',
      fix: 'let createAdapter return an object with call, health, describe and close',
    },
  });
}
