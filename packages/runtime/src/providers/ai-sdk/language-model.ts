// What we need of a model of the AI SDK, whichever of the two interface versions it has. Written by
// structure: no package of the SDK is needed to run or to compile against this one.

import { type Fields, isObject } from '@starloom/core';

export interface LanguageModel {
  readonly specificationVersion: 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: UrlPatterns | PromiseLike<UrlPatterns>;
  doGenerate(options: ModelCall): PromiseLike<object>;
  doStream(options: ModelCall): PromiseLike<{ stream: ReadableStream<unknown> }>;
}

/** By media type, such as `image/*`: the addresses that the service fetches by itself. */
export type UrlPatterns = Readonly<Record<string, readonly RegExp[]>>;

/** What is asked; the shapes inside are those of the interface version. */
export interface ModelCall {
  prompt: never;
  tools?: never;
  toolChoice?: never;
  maxOutputTokens?: number;
  temperature?: number;
  abortSignal?: AbortSignal;
  providerOptions?: never;
}

export function isLanguageModel(value: unknown): value is LanguageModel {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const model = value as Partial<Record<keyof LanguageModel, unknown>>;
  return (
    (model.specificationVersion === 'v3' || model.specificationVersion === 'v4') &&
    typeof model.doGenerate === 'function' &&
    typeof model.doStream === 'function'
  );
}

/** What a vendor says of a part, by vendor; `undefined` when it says nothing. */
export function metadataOf({ providerMetadata }: Readonly<Fields>): Readonly<Fields> | undefined {
  const isTelling = isObject(providerMetadata) && Object.keys(providerMetadata).length > 0;
  return isTelling ? providerMetadata : undefined;
}

/** What came later adds to what came before, vendor by vendor. */
export function mergeMetadata(
  before: Readonly<Fields> | undefined,
  later: Readonly<Fields> | undefined,
): Readonly<Fields> | undefined {
  if (before === undefined || later === undefined) return later ?? before;
  const merged: Record<string, unknown> = { ...before };
  for (const [vendor, fields] of Object.entries(later)) {
    const known = merged[vendor];
    merged[vendor] = isObject(known) && isObject(fields) ? { ...known, ...fields } : fields;
  }
  return merged;
}
