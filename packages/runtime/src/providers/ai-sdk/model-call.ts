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
  const write = createWriter(model, names, await model.supportedUrls);
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
    ...messages.map(write),
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

/** How messages are written for this model. */
function createWriter(model: LanguageModel, names: ToolNames, urls: UrlPatterns = {}) {
  const toData = (media: Media): unknown => {
    const isOld = model.specificationVersion === 'v3';
    if (media.kind === 'data') return isOld ? media.base64 : { type: 'data', data: media.base64 };
    const url = new URL(media.url);
    return isOld ? url : { type: 'url', url };
  };
  /** We fetch nothing for a service: an address it does not take is shown as one. */
  const toPart = (segment: ContentSegment, takesUrls: boolean): object => {
    if (!isMedia(segment)) return { type: 'text', text: segment.text ?? '' };
    const media = parseMedia(segment);
    const isTaken = media.kind === 'data' || (takesUrls && isSupported(media, urls));
    if (!isTaken) return { type: 'text', text: `[${segment.type}: ${media.url}]` };
    return { type: 'file', mediaType: media.mimeType, data: toData(media) };
  };
  const toAssistantPart = (segment: ContentSegment): object => {
    const { type, text = '', toolCall } = segment;
    if (type === 'reasoning') return { type: 'reasoning', text };
    if (toolCall === undefined) return toPart(segment, false);
    const { id, name, args } = toolCall;
    return { type: 'tool-call', toolCallId: id, toolName: names.toWire(name), input: args };
  };
  const toResult = ({ id, name, text, isError }: PromptResult): object => ({
    type: 'tool-result',
    toolCallId: id,
    toolName: names.toWire(name),
    output: { type: isError ? 'error-text' : 'text', value: text },
  });

  return (message: PromptMessage): object => {
    const { role } = message;
    switch (role) {
      case 'user':
        return { role, content: message.segments.map((each) => toPart(each, true)) };
      case 'assistant':
        return { role, content: message.segments.map(withMetadata(toAssistantPart)) };
      case 'tool':
        return { role, content: message.results.map(withMetadata(toResult)) };
    }
  };
}

/** What a vendor gave us with a part goes back with it. */
function withMetadata<Part extends Pick<ContentSegment, 'providerMetadata'>>(
  write: (part: Part) => object,
): (part: Part) => object {
  return (part) => {
    const { providerMetadata } = part;
    return { ...write(part), ...(providerMetadata && { providerOptions: providerMetadata }) };
  };
}

function isSupported({ url, mimeType }: Media & { kind: 'url' }, patterns: UrlPatterns): boolean {
  const [top] = mimeType.split('/');
  const kinds = ['*', '*/*', `${top}/*`, mimeType];
  const matching = kinds.flatMap((kind) => patterns[kind] ?? []);
  return URL.canParse(url) && matching.some((pattern) => pattern.test(url.toLowerCase()));
}
