// A prompt in the shape of the AI SDK. The two interface versions differ in how they hold files.

import { createHash } from 'node:crypto';
import type { ContentSegment, ITool } from '@starloom/sdk';
import { type Media, parseMedia } from '../../core/media.ts';
import { isMedia, type Prompt, type PromptMessage, type PromptResult } from '../to-prompt.ts';
import type { ToolNames } from '../tool-names.ts';
import type { LanguageModel, ModelCall, UrlPatterns } from './language-model.ts';
import type { Vendor } from './load-model.ts';

export interface ModelCallOptions {
  readonly names: ToolNames;
  readonly cache?: Pick<Vendor, 'cacheMark' | 'cacheKey'> | undefined;
}

type MadeCall = Pick<ModelCall, 'prompt' | 'tools' | 'toolChoice' | 'providerOptions'>;

export async function toModelCall(
  model: LanguageModel,
  { system, messages }: Prompt,
  tools: Iterable<ITool>,
  { names, cache = {} }: ModelCallOptions,
): Promise<MadeCall> {
  const writer = new MessageWriter(model, names, await model.supportedUrls);
  const { cacheMark, cacheKey } = cache;
  const mark = cacheMark && { providerOptions: cacheMark };
  const offered: object[] = Array.from(tools, ({ name, description, parameters }) => ({
    type: 'function',
    name: names.toWire(name),
    description,
    inputSchema: parameters,
  }));
  const key = cacheKey && toCacheKey(system, offered);
  const last = offered.pop();
  if (last) offered.push({ ...last, ...mark });
  const prompt = [
    ...(system === '' ? [] : [{ role: 'system', content: system, ...mark }]),
    ...messages.map((message) => writer.write(message)),
  ];
  return {
    prompt: prompt as never,
    ...(key !== undefined && { providerOptions: cacheKey?.(key) as never }),
    ...(offered.length > 0 && {
      tools: offered as never,
      toolChoice: { type: 'auto' } as never,
    }),
  };
}

/** The same for all calls of an agent whose tools stay the same. */
function toCacheKey(system: string, offered: readonly object[]): string {
  const digest = createHash('sha256').update(JSON.stringify([system, offered]));
  return `starloom-${digest.digest('base64url').slice(0, 32)}`;
}

class MessageWriter {
  readonly #model: LanguageModel;
  readonly #names: ToolNames;
  readonly #urls: UrlPatterns;

  constructor(model: LanguageModel, names: ToolNames, urls: UrlPatterns | undefined) {
    this.#model = model;
    this.#names = names;
    this.#urls = urls ?? {};
  }

  write(message: PromptMessage): object {
    switch (message.role) {
      case 'user':
        return { role: 'user', content: message.segments.map((each) => this.#userPart(each)) };
      case 'assistant':
        return {
          role: 'assistant',
          content: message.segments.map((each) => ({
            ...this.#assistantPart(each),
            ...toProviderOptions(each),
          })),
        };
      case 'tool':
        return { role: 'tool', content: message.results.map((result) => this.#result(result)) };
    }
  }

  #userPart(segment: ContentSegment): object {
    return isMedia(segment) ? this.#file(segment, true) : textPart(segment);
  }

  #assistantPart(segment: ContentSegment): object {
    const { type, text = '', toolCall } = segment;
    if (type === 'reasoning') return { type: 'reasoning', text };
    if (toolCall === undefined)
      return isMedia(segment) ? this.#file(segment, false) : textPart(segment);
    const { id, name, args } = toolCall;
    return { type: 'tool-call', toolCallId: id, toolName: this.#names.toWire(name), input: args };
  }

  #result(result: PromptResult): object {
    const { id, name, text, isError } = result;
    return {
      type: 'tool-result',
      toolCallId: id,
      toolName: this.#names.toWire(name),
      output: { type: isError ? 'error-text' : 'text', value: text },
      ...toProviderOptions(result),
    };
  }

  /** We fetch nothing for a service: an address it does not take is shown as one. */
  #file(segment: ContentSegment, takesUrls: boolean): object {
    const media = parseMedia(segment);
    const isTaken = media.kind === 'data' || (takesUrls && isSupported(media, this.#urls));
    if (!isTaken) return { type: 'text', text: `[${segment.type}: ${media.url}]` };
    return { type: 'file', mediaType: media.mimeType, data: this.#data(media) };
  }

  #data(media: Media): unknown {
    const isOld = this.#model.specificationVersion === 'v3';
    if (media.kind === 'data') return isOld ? media.base64 : { type: 'data', data: media.base64 };
    const url = new URL(media.url);
    return isOld ? url : { type: 'url', url };
  }
}

function textPart({ text = '' }: ContentSegment): object {
  return { type: 'text', text };
}

/** What a vendor gave us with a part goes back with it. */
function toProviderOptions({ providerMetadata }: Pick<ContentSegment, 'providerMetadata'>): object {
  return providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
}

function isSupported({ url, mimeType }: Media & { kind: 'url' }, patterns: UrlPatterns): boolean {
  const [top] = mimeType.split('/');
  const kinds = ['*', '*/*', `${top}/*`, mimeType];
  const matching = kinds.flatMap((kind) => patterns[kind] ?? []);
  return URL.canParse(url) && matching.some((pattern) => pattern.test(url.toLowerCase()));
}
