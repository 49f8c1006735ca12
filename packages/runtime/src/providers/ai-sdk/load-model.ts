// Vendor packages are the user's: found from the folder of the agent, loaded only when an agent
// names one. A package exports a factory, `createSomething`; a file may also export a model.

import { randomUUID } from 'node:crypto';
import { importModule } from '../../import-module.ts';
import { failure } from '../../reasons.ts';
import type { ModelErrors } from '../model-error.ts';
import type { AiSdkConfig, ProviderHost } from '../provider-host.ts';
import { isLanguageModel, type LanguageModel } from './language-model.ts';

export async function loadModel(
  config: AiSdkConfig,
  key: string | undefined,
  { folder }: Pick<ProviderHost, 'folder'>,
  fetch: typeof globalThis.fetch,
): Promise<LanguageModel> {
  const about = { package: config.package };
  const exported = await importModule(config.package, folder, (problem, cause) =>
    failure(problem, about, { cause }),
  );
  const ready = [exported.model, exported.default].find(isLanguageModel);
  if (ready !== undefined) return ready;
  const vendor = findFactory(config, exported)(toSettings(config, key, fetch));
  const model = methodOf(config, vendor)(config.model);
  if (isLanguageModel(model)) return model;
  throw failure('no_model', about);
}

/** The key of the configuration, or of the variable that the vendor itself would read. */
export function findKey(config: AiSdkConfig, env: ProviderHost['env']): string | undefined {
  const variable = VENDORS[config.package]?.keyVariable;
  const key = config.api_key?.reveal() ?? (variable === undefined ? undefined : env[variable]);
  if (key !== undefined || variable === undefined) return key;
  throw failure('missing_key', { package: config.package, variable });
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
  if (found === undefined) throw failure('no_factory', { package: name });
  throw failure('many_factories', { package: name, factories: names });
}

function isFactory(key: string, value: unknown): boolean {
  return typeof value === 'function' && /^create[A-Z]/.test(key);
}

function toSettings(config: AiSdkConfig, key: string | undefined, fetch: unknown): object {
  return {
    fetch,
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
  throw failure('no_api', { package: name });
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
        if (length > limit) controller.error(errors.of('answer_too_large', { limit_bytes: limit }));
        else controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
  };
}

export interface Vendor {
  /** Where its key stands when the configuration has none. */
  readonly keyVariable?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** What its models take beside words, as a rule. */
  readonly takes?: readonly ('image' | 'audio')[];
  /** For each call: its `providerOptions`. */
  readonly options?: VendorOptions;
  /** Marks the end of what it may keep for the next call: tools and system prompt. */
  readonly cacheMark?: VendorOptions;
  /** Names what it may keep, so that calls with the same tools find it again. */
  readonly cacheKey?: (key: string) => VendorOptions;
  /** Keeps them under an id that it gives. */
  readonly cachesById?: boolean;
}

type VendorOptions = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What packages want beyond the common; others need no row. */
export const VENDORS: Readonly<Record<string, Vendor>> = {
  '@ai-sdk/anthropic': {
    keyVariable: 'ANTHROPIC_API_KEY',
    takes: ['image'],
    cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
  },
  '@ai-sdk/google': {
    keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    takes: ['image', 'audio'],
    cachesById: true,
  },
  // The conversation is ours to keep: nothing is stored at the vendor's, and nothing refers to it.
  '@ai-sdk/openai': {
    keyVariable: 'OPENAI_API_KEY',
    takes: ['image'],
    options: { openai: { store: false } },
    cacheKey: (promptCacheKey) => ({ openai: { promptCacheKey } }),
  },
  '@ai-sdk/openai-compatible': { settings: { name: 'openai-compatible', includeUsage: true } },
};
