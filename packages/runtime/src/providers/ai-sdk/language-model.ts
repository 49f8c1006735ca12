// What we need of a model of the AI SDK, whichever of the two interface versions it has. Written by
// structure: no package of the SDK is needed to run or to compile against this one.

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
