// Any model of the AI SDK as a provider. The SDK's own loop is not used: the core decides when tools
// are called.

import { FabricError, isObject, type Log, orAborted, silentLog } from '@starloom/core';
import { foldEvents, type IAgentContext, type ProviderEvent } from '@starloom/sdk';
import { createCachedContent } from './ai-sdk/cached-content.ts';
import { type LanguageModel, type ModelCall, mergeMetadata } from './ai-sdk/language-model.ts';
import { createBoundedFetch, findKey, loadModel, VENDORS } from './ai-sdk/load-model.ts';
import { ModelAnswer } from './ai-sdk/model-answer.ts';
import { type ModelCallOptions, toModelCall } from './ai-sdk/model-call.ts';
import { toFailure } from './ai-sdk/model-failure.ts';
import { ModelErrors } from './model-error.ts';
import {
  type AiSdkConfig,
  type OpenedProvider,
  type ProviderHost,
  withLatency,
} from './provider-host.ts';
import { toPrompt } from './to-prompt.ts';
import { namesOf } from './tool-names.ts';

export async function openAiSdk(config: AiSdkConfig, host: ProviderHost): Promise<OpenedProvider> {
  const key = findKey(config, host.env);
  const errors = new ModelErrors(config.model, key);
  const vendor = VENDORS[config.package];
  const fetch = createBoundedFetch(errors);
  const kept = vendor?.cachesById ? createCachedContent({ fetch, log: host.log }) : undefined;
  const model = await loadModel(config, key, host, kept?.fetch ?? fetch);
  const { temperature, max_tokens, options } = config;
  const providerOptions = mergeMetadata(vendor?.options, options);
  const provider = createAiSdkProvider(model, {
    errors,
    log: host.log,
    cache: vendor,
    settings: {
      ...(temperature !== undefined && { temperature }),
      ...(max_tokens !== undefined && { maxOutputTokens: max_tokens }),
      ...(providerOptions && { providerOptions: providerOptions as never }),
    },
  });
  return {
    ...provider,
    takes: config.takes ?? vendor?.takes ?? [],
    ...(kept && { close: () => kept.close() }),
  };
}

export interface AiSdkProviderOptions {
  readonly errors?: ModelErrors;
  readonly log?: Log;
  /** How the vendor keeps tools and system prompt from call to call. */
  readonly cache?: ModelCallOptions['cache'];
  readonly settings?: Omit<ModelCall, 'prompt' | 'tools' | 'toolChoice' | 'abortSignal'>;
}

/** `model` has the interface version 3 or 4; nothing else is asked of it. */
export function createAiSdkProvider(
  model: LanguageModel,
  options: AiSdkProviderOptions = {},
): OpenedProvider {
  const {
    errors = new ModelErrors(model.modelId),
    log = silentLog,
    cache,
    settings = {},
  } = options;

  async function* ask(
    prompt: string,
    context: IAgentContext,
    send: (call: ModelCall, answer: ModelAnswer, signal: AbortSignal) => Events,
  ): Events {
    const { signal = new AbortController().signal, tools } = context;
    if (signal.aborted) throw FabricError.from(signal.reason);
    const started = performance.now();
    const names = namesOf(context);
    const shown = toPrompt(prompt, context);
    const answer = new ModelAnswer(names, model.modelId);
    try {
      const asked = await toModelCall(model, shown, tools.values(), { names, cache });
      const merged = mergeMetadata(asked.providerOptions, settings.providerOptions);
      const call = { ...settings, ...asked, ...(merged && { providerOptions: merged as never }) };
      yield* send({ ...call, abortSignal: signal }, answer, signal);
      if (!answer.isFinished) throw answer.isEmpty ? errors.unreadable('') : errors.of('cut_off');
      for (const event of answer.end()) yield withLatency(event, started);
    } catch (error) {
      throw signal.aborted ? FabricError.from(signal.reason) : toFailure(error, errors);
    }
  }

  // A model may not care for its signal.
  async function* generate(call: ModelCall, answer: ModelAnswer, signal: AbortSignal): Events {
    const result = await orAborted(Promise.resolve(model.doGenerate(call)), signal);
    const { content, response, ...finish } = result as Readonly<Record<string, unknown>>;
    logWarnings(finish.warnings);
    for (const part of Array.isArray(content) ? content : []) yield* answer.push(part);
    if (isObject(response)) yield* answer.push({ ...response, type: 'response-metadata' });
    yield* answer.push({ ...finish, type: 'finish' });
  }

  async function* stream(call: ModelCall, answer: ModelAnswer, signal: AbortSignal): Events {
    const { stream: parts } = await orAborted(Promise.resolve(model.doStream(call)), signal);
    for await (const part of readStream(parts, signal)) {
      if (isObject(part) && part.type === 'error') throw toFailure(part.error, errors);
      if (isObject(part) && part.type === 'stream-start') logWarnings(part.warnings);
      yield* answer.push(part);
    }
  }

  /** A model reports only by warnings what it leaves out of a request. */
  function logWarnings(warnings: unknown): void {
    for (const warning of Array.isArray(warnings) ? warnings : []) {
      const { type, feature, setting, message, details } = isObject(warning) ? warning : {};
      const about = errors.excerpt(String(feature ?? setting ?? message ?? details ?? ''));
      log.debug({ model: model.modelId, type, about }, 'the model leaves something out');
    }
  }

  return {
    name: `${model.provider}/${model.modelId}`,
    readsBlocks: true,
    stream: (prompt, context) => ask(prompt, context, stream),
    generate: async (prompt, context) =>
      foldEvents(await Array.fromAsync(ask(prompt, context, generate))),
    close: async () => {},
  };
}

type Events = AsyncGenerator<ProviderEvent>;

/**
 * What the stream gives, until it ends or the signal aborts. However it is left, the stream is
 * cancelled, and with it the connection behind it.
 */
async function* readStream<T>(stream: ReadableStream<T>, signal: AbortSignal): AsyncGenerator<T> {
  const reader = stream.getReader();
  try {
    while (true) {
      const { done, value } = await orAborted(reader.read(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
