// The parts of an answer, from a stream or from a list, as our events. Kinds that we do not know are
// passed over: every release of the SDK brings some.

import { randomUUID } from 'node:crypto';
import { type Fields, isObject, toFields } from '@starloom/core';
import type { ContentSegment, FinishReason, ProviderEvent, ResponseMetadata } from '@starloom/sdk';
import { toMediaSegment } from '../../core/media.ts';
import { definedCounts, numberOf, parseArguments, textOf } from '../../json.ts';
import type { ToolNames } from '../tool-names.ts';
import { mergeMetadata, metadataOf } from './language-model.ts';

type Kind = 'text' | 'reasoning';

interface Part {
  readonly waiting: ProviderEvent[];
  isOpen: boolean;
  metadata?: Readonly<Fields> | undefined;
}

export class ModelAnswer {
  readonly #names: ToolNames;
  /**
   * In the order in which they began. The first open part is passed on as it comes; later ones wait until it
   * is closed. Some models close a text only after the call that follows it, and its metadata comes with its end.
   */
  readonly #parts: Part[] = [];
  readonly #texts = new Map<string, Part>();
  #metadata: ResponseMetadata;
  #finish: Readonly<Fields> | undefined;
  #hasParts = false;

  constructor(names: ToolNames, model: string) {
    this.#names = names;
    this.#metadata = { model };
  }

  /** Whether the service said that, and why, the answer is over. */
  get isFinished(): boolean {
    if (this.#finish === undefined) return false;
    const { finishReason: reason } = this.#finish;
    if (!isObject(reason)) return true;
    // `interrupted` is how version 4 says it; version 3 says `other` and knows of nothing else.
    const isVague = reason.unified === 'other' && reason.raw === undefined;
    return reason.unified !== 'interrupted' && !isVague;
  }

  get isEmpty(): boolean {
    return !this.#hasParts;
  }

  *push(part: unknown): Generator<ProviderEvent> {
    if (!isObject(part)) return;
    this.#read(part);
    yield* this.#take();
  }

  *end(): Generator<ProviderEvent> {
    for (const part of this.#parts) part.isOpen = false;
    yield* this.#take();
    yield { type: 'finish', metadata: { ...this.#metadata, ...readFinish(this.#finish ?? {}) } };
  }

  /** What may flow now. */
  *#take(): Generator<ProviderEvent> {
    for (let part = this.#parts[0]; part !== undefined; part = this.#parts[0]) {
      yield* part.waiting.splice(0);
      if (part.isOpen) return;
      this.#parts.shift();
    }
  }

  #read(part: Readonly<Fields>): void {
    const [, kind, step] = TEXT_PART.exec(textOf(part.type) ?? '') ?? [];
    if (kind !== undefined && step !== undefined) this.#readText(kind as Kind, step, part);
    else if (part.type === 'text' || part.type === 'reasoning') this.#addText(part.type, part);
    else if (part.type === 'finish') this.#finish = part;
    else if (part.type === 'response-metadata') {
      if (typeof part.modelId === 'string') this.#metadata.model = part.modelId;
    } else {
      const segment = toSegment(part, this.#names);
      if (segment) this.#add({ type: 'segment', segment });
    }
  }

  #readText(kind: Kind, step: string, part: Readonly<Fields>): void {
    const key = `${kind}:${part.id}`;
    const open = (step === 'start' ? undefined : this.#texts.get(key)) ?? this.#begin(key);
    open.metadata = mergeMetadata(open.metadata, metadataOf(part));
    const text = textOf(part.delta) ?? '';
    if (text !== '') {
      this.#hasParts = true;
      open.waiting.push({ type: kind, text });
    }
    if (step !== 'end') return;
    const { metadata: providerMetadata } = open;
    if (providerMetadata) open.waiting.push({ type: kind, text: '', providerMetadata });
    open.isOpen = false;
    this.#texts.delete(key);
  }

  #begin(key: string): Part {
    const part: Part = { waiting: [], isOpen: true };
    this.#parts.push(part);
    this.#texts.set(key, part);
    return part;
  }

  #addText(type: Kind, part: Readonly<Fields>): void {
    const text = textOf(part.text) ?? '';
    const providerMetadata = metadataOf(part);
    if (text === '' && providerMetadata === undefined) return;
    this.#add({ type, text, ...(providerMetadata && { providerMetadata }) });
  }

  /** A part that is all there at once. */
  #add(event: ProviderEvent): void {
    this.#hasParts = true;
    this.#parts.push({ waiting: [event], isOpen: false });
  }
}

const TEXT_PART = /^(text|reasoning)-(start|delta|end)$/;

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  error: 'error',
};

function readFinish({ finishReason, usage }: Readonly<Fields>): ResponseMetadata {
  const unified = isObject(finishReason) ? textOf(finishReason.unified) : textOf(finishReason);
  return {
    finishReason: FINISH_REASONS[unified ?? ''] ?? 'other',
    ...(isObject(usage) && { usage: readUsage(usage) }),
  };
}

function readUsage(usage: Readonly<Fields>): NonNullable<ResponseMetadata['usage']> {
  const input = toFields(usage.inputTokens);
  const output = toFields(usage.outputTokens);
  return definedCounts({
    inputTokens: numberOf(input.total),
    outputTokens: numberOf(output.total),
    cacheReadTokens: numberOf(input.cacheRead),
    cacheWriteTokens: numberOf(input.cacheWrite),
    reasoningTokens: numberOf(output.reasoning),
  });
}

/** A part that is whole, as a segment; `undefined` for kinds we have no use for. */
function toSegment(part: Readonly<Fields>, names: ToolNames): ContentSegment | undefined {
  const segment = convert(part, names);
  const providerMetadata = metadataOf(part);
  return segment && providerMetadata ? { ...segment, providerMetadata } : segment;
}

function convert(part: Readonly<Fields>, names: ToolNames): ContentSegment | undefined {
  switch (part.type) {
    case 'tool-call':
      // What the service ran itself is not ours to run; its result follows.
      return part.providerExecuted === true ? undefined : toToolCall(part, names);
    case 'tool-result':
      return toToolResult(part, names);
    case 'file':
      return toFile(part);
    default:
      return undefined;
  }
}

function toToolCall(
  { toolCallId, toolName, input }: Readonly<Fields>,
  names: ToolNames,
): ContentSegment {
  const id = textOf(toolCallId) ?? '';
  const name = names.fromWire(textOf(toolName) ?? '');
  const args = typeof input === 'string' ? parseArguments(input) : input;
  return { type: 'tool_call', toolCall: { id: id === '' ? randomUUID() : id, name, args } };
}

function toToolResult(part: Readonly<Fields>, names: ToolNames): ContentSegment | undefined {
  if (part.preliminary === true) return undefined;
  const name = names.fromWire(textOf(part.toolName) ?? '');
  const picture = isObject(part.result) ? textOf(part.result.result) : undefined;
  if (name === 'image_generation' && picture !== undefined) {
    return { type: 'image', data: picture, mimeType: 'image/png' };
  }
  const text = typeof part.result === 'string' ? part.result : JSON.stringify(part.result);
  const toolResult = {
    id: textOf(part.toolCallId) ?? '',
    name,
    output: [{ type: 'text' as const, text }],
    ...(part.isError === true && { isError: true }),
  };
  return { type: 'tool_result', toolResult };
}

/** https://a2ui.org: components for a front end to render. */
const UI_TYPE = /^application\/(json\+a2ui|a2ui\+json)$/;

function toFile({ mediaType, data }: Readonly<Fields>): ContentSegment {
  const type = textOf(mediaType) ?? '';
  const content = toContent(data);
  if (UI_TYPE.test(type)) {
    const text = Buffer.from(content, 'base64').toString('utf8');
    return { type: 'ui', ui: parseArguments(text) };
  }
  return toMediaSegment(type, content) ?? { type: 'text', text: `[file of type ${type}]` };
}

/** Base64 or a URL, out of either interface version. */
function toContent(data: unknown): string {
  if (data instanceof Uint8Array) return Buffer.from(data).toString('base64');
  if (data instanceof URL) return data.href;
  if (isObject(data)) return toContent(data.type === 'url' ? data.url : data.data);
  return textOf(data) ?? '';
}
