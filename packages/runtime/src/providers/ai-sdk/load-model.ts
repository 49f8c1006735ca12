// Vendor packages are the user's: found from the folder of the agent, loaded only when an agent
// names one. A package exports a factory, `createSomething`; a file may also export a model.

import { randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { type ErrorDetails, FabricError } from '@starloom/core';
import { findModule } from '@starloom/wire';
import type { AiSdkConfig } from '../config.ts';
import type { ModelErrors } from '../model-error.ts';
import type { ProviderHost } from '../provider-host.ts';
import { isLanguageModel, type LanguageModel } from './language-model.ts';
import { VENDORS } from './vendors.ts';

export async function loadModel(
  config: AiSdkConfig,
  key: string | undefined,
  { folder }: Pick<ProviderHost, 'folder'>,
  errors: ModelErrors,
): Promise<LanguageModel> {
  const exported = await load(config.package, folder);
  const ready = [exported.model, exported.default].find(isLanguageModel);
  if (ready !== undefined) return ready;
  const vendor = findFactory(config, exported)(toSettings(config, key, errors));
  const model = methodOf(config, vendor)(config.model);
  if (isLanguageModel(model)) return model;
  throw loadError(config.package, 'no_model', 'use a version of the package for AI SDK 6 or 7');
}

/** The key of the configuration, or of the variable that the vendor itself would read. */
export function findKey(config: AiSdkConfig, env: ProviderHost['env']): string | undefined {
  const variable = VENDORS[config.package]?.keyVariable;
  const key = config.api_key?.reveal() ?? (variable === undefined ? undefined : env[variable]);
  if (key !== undefined || variable === undefined) return key;
  throw new FabricError('BAD_INPUT', `There is no key for ${config.package}`, {
    details: {
      reason: 'missing_key',
      package: config.package,
      fix: `set ${variable}, or write "api_key": "env:NAME" into provider of agent.json`,
    },
  });
}

async function load(name: string, folder: string): Promise<Readonly<Record<string, unknown>>> {
  const path = find(name, folder);
  if (path === undefined) {
    throw loadError(name, 'not_found', `run "npm install ${name}" in the folder of agent.json`);
  }
  try {
    return await import(pathToFileURL(path).href);
  } catch (cause) {
    throw loadError(name, 'import_failed', 'see in the log why it cannot be loaded', { cause });
  }
}

function find(name: string, folder: string): string | undefined {
  try {
    return findModule(name, folder);
  } catch (cause) {
    throw loadError(name, 'bad_package', 'its package.json leads to no module', { cause });
  }
}

type Factory = (settings: object) => unknown;

function findFactory({ package: name, factory }: AiSdkConfig, exported: object): Factory {
  const named = Object.entries(exported).filter(([key, value]) =>
    factory === undefined ? isFactory(key, value) : key === factory && typeof value === 'function',
  );
  const factories = new Map(named.map(([key, value]) => [value, key]));
  const [found] = factories.keys();
  if (found !== undefined && factories.size === 1) return found as Factory;
  const names = [...factories.values()].join(', ');
  throw found === undefined
    ? loadError(name, 'no_factory', 'name a package of the AI SDK, or export a model from the file')
    : loadError(name, 'many_factories', `set provider.factory to one of: ${names}`);
}

function isFactory(key: string, value: unknown): boolean {
  return typeof value === 'function' && /^create[A-Z]/.test(key);
}

function toSettings(config: AiSdkConfig, key: string | undefined, errors: ModelErrors): object {
  return {
    fetch: createBoundedFetch(errors),
    generateId: randomUUID,
    ...VENDORS[config.package]?.settings,
    ...(config.base_url !== undefined && { baseURL: config.base_url }),
    ...(key !== undefined && { apiKey: key }),
    ...config.settings,
  };
}

function methodOf(
  { package: name, api }: AiSdkConfig,
  vendor: unknown,
): (model: string) => unknown {
  const isBearing = (typeof vendor === 'object' && vendor !== null) || typeof vendor === 'function';
  const method: unknown = isBearing ? Reflect.get(vendor, api ?? 'languageModel') : undefined;
  if (typeof method === 'function') return (model) => method.call(vendor, model);
  throw loadError(name, 'no_api', 'leave provider.api out, or name one that the package has');
}

function loadError(
  name: string,
  reason: string,
  fix: string,
  options: { readonly cause?: unknown } = {},
): FabricError {
  const details: ErrorDetails = { package: name, reason, fix };
  return new FabricError('BAD_INPUT', `"${name}" brings no model`, { details, ...options });
}

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** `fetch` whose answers fail when they are larger than any answer of a model. */
export function createBoundedFetch(
  errors: ModelErrors,
  limit = MAX_ANSWER_BYTES,
): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    let length = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        length += chunk.length;
        if (length > limit) controller.error(errors.tooLarge(limit));
        else controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
  };
}
