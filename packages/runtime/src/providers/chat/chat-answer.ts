// The answer of a chat service, whole or in chunks, read leniently: servers differ in what they
// leave out, repeat or misplace. Missing parts get defaults or are left out; only an answer that cannot
// be understood is an error.

import { randomUUID } from 'node:crypto';
import { type Fields, isObject, toFields } from '@starloom/core';
import type { ContentSegment, FinishReason, ProviderEvent, ResponseMetadata } from '@starloom/sdk';
import { fromUrl } from '../../core/media.ts';
import { definedCounts, numberOf, parseArguments, textOf } from '../../json.ts';
import type { ModelErrors } from '../model-error.ts';
import type { ToolNames } from '../tool-names.ts';
import { METADATA_KEY } from './chat-request.ts';

export class ChatAnswer {
  readonly #errors: ModelErrors;
  readonly #calls: ChatCalls;
  #metadata: ResponseMetadata = {};
  #reasoningField: string | undefined;
  #reason: string | undefined;
  #hasChoice = false;
  #isOver = false;

  constructor(names: ToolNames, errors: ModelErrors) {
    this.#calls = new ChatCalls(names);
    this.#errors = errors;
  }

  /** The service says that nothing follows. */
  finish(): void {
    this.#isOver = true;
  }

  /** `chunk` is a whole completion or a part of one. */
  *push(chunk: unknown): Generator<ProviderEvent> {
    if (!isObject(chunk)) throw this.#errors.unreadable(JSON.stringify(chunk));
    if (chunk.error !== undefined && chunk.error !== null)
      throw this.#toReportedFailure(chunk.error);
    this.#metadata = { ...this.#metadata, ...readUsage(chunk.usage), ...readModel(chunk.model) };
    const choice: unknown = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    if (!isObject(choice)) return;
    this.#hasChoice = true;
    const said = choice.delta ?? choice.message;
    if (isObject(said)) yield* this.#read(said);
    this.#reason = textOf(choice.finish_reason) ?? this.#reason;
  }

  /** What is left when nothing more comes. `isWhole`: the answer was not a stream. */
  *end({ isWhole }: { readonly isWhole: boolean }): Generator<ProviderEvent> {
    if (!this.#hasChoice) throw this.#errors.unreadable('');
    if (!isWhole && !this.#isOver && this.#reason === undefined) throw this.#errors.of('cut_off');
    yield* this.#endReasoning();
    const calls = this.#calls.segments();
    for (const segment of calls) yield { type: 'segment', segment };
    const finishReason = toFinishReason(this.#reason, calls);
    yield { type: 'finish', metadata: { ...this.#metadata, finishReason } };
  }

  *#read(said: Readonly<Fields>): Generator<ProviderEvent> {
    yield* this.#readReasoning(said);
    const events = readContent(said);
    if (events.length > 0) yield* this.#endReasoning();
    yield* events;
    this.#calls.push(said.tool_calls);
  }

  *#readReasoning(said: Readonly<Fields>): Generator<ProviderEvent> {
    const field = REASONING_FIELDS.find((name) => (textOf(said[name]) ?? '') !== '');
    if (field === undefined) return;
    this.#reasoningField = field;
    yield { type: 'reasoning', text: textOf(said[field]) ?? '' };
  }

  /** Says by which name the reasoning came: by that name it goes back. */
  *#endReasoning(): Generator<ProviderEvent> {
    if (this.#reasoningField === undefined) return;
    const providerMetadata = { [METADATA_KEY]: { field: this.#reasoningField } };
    this.#reasoningField = undefined;
    yield { type: 'reasoning', text: '', providerMetadata };
  }

  /** Some services answer 200, and tell of the failure in the body or in the stream. */
  #toReportedFailure(error: unknown) {
    const code = isObject(error) ? (numberOf(error.code) ?? numberOf(error.status)) : undefined;
    const body = JSON.stringify(error);
    return this.#errors.ofStatus({ status: code !== undefined && code >= 400 ? code : 500, body });
  }
}

const REASONING_FIELDS = ['reasoning_content', 'reasoning'] as const;

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
};

/** Some services say `stop` after calls. */
function toFinishReason(
  reason: string | undefined,
  calls: readonly ContentSegment[],
): FinishReason {
  if (calls.length > 0 && (reason === undefined || reason === 'stop')) return 'tool_calls';
  return reason === undefined ? 'stop' : (FINISH_REASONS[reason] ?? 'other');
}

function readModel(model: unknown): ResponseMetadata {
  return typeof model === 'string' && model !== '' ? { model } : {};
}

function readUsage(usage: unknown): ResponseMetadata {
  if (!isObject(usage)) return {};
  return {
    usage: definedCounts({
      inputTokens: numberOf(usage.prompt_tokens),
      outputTokens: numberOf(usage.completion_tokens),
      cacheReadTokens: numberOf(toFields(usage.prompt_tokens_details).cached_tokens),
      reasoningTokens: numberOf(toFields(usage.completion_tokens_details).reasoning_tokens),
    }),
  };
}

/**
 * The words, pictures and sounds of a message or a delta, in order: `content` as a string or as
 * parts, then what some services put beside it (`refusal`, `images`, `audio`).
 */
function readContent({ content, refusal, images, audio }: Readonly<Fields>): ProviderEvent[] {
  return [
    ...(Array.isArray(content) ? content.flatMap(readPart) : readText(content)),
    ...readText(refusal),
    ...(Array.isArray(images) ? images.flatMap(readPart) : []),
    ...readAudio(audio),
  ];
}

function readText(text: unknown): ProviderEvent[] {
  return typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : [];
}

function readPart(part: unknown): ProviderEvent[] {
  if (!isObject(part)) return readText(part);
  switch (part.type) {
    case 'image_url':
      return readUrl('image', part.image_url);
    case 'video_url':
      return readUrl('video', part.video_url);
    case 'audio_url':
      return readUrl('audio', part.audio_url);
    case 'input_audio':
    case 'audio':
      return readAudio(part.input_audio ?? part.audio);
    default:
      return readText(part.text);
  }
}

function readUrl(type: 'image' | 'audio' | 'video', value: unknown): ProviderEvent[] {
  const url = isObject(value) ? textOf(value.url) : textOf(value);
  return url === undefined ? [] : [toEvent(fromUrl(type, url))];
}

/** A sound with its transcript, which comes first: it is what a reader without ears gets. */
function readAudio(audio: unknown): ProviderEvent[] {
  if (!isObject(audio)) return [];
  const data = textOf(audio.data) ?? '';
  const mimeType = `audio/${textOf(audio.format) ?? 'wav'}`;
  const sound: ContentSegment = { type: 'audio', data, mimeType };
  return [...readText(audio.transcript), ...(data === '' ? [] : [toEvent(sound)])];
}

function toEvent(segment: ContentSegment): ProviderEvent {
  return { type: 'segment', segment };
}

interface Call {
  readonly index: number | undefined;
  id: string;
  name: string;
  args: string;
  /** Some services give the arguments as an object. */
  given?: unknown;
  extra?: unknown;
}

/**
 * The tool calls of an answer, joined from fragments. A fragment belongs to the call of its index;
 * where services leave the index out, or give all calls the same, a new id begins a new call.
 */
class ChatCalls {
  readonly #names: ToolNames;
  readonly #calls: Call[] = [];

  constructor(names: ToolNames) {
    this.#names = names;
  }

  push(fragments: unknown): void {
    if (!Array.isArray(fragments)) return;
    for (const fragment of fragments.filter(isObject)) this.#add(fragment);
  }

  segments(): ContentSegment[] {
    return this.#calls
      .filter(({ name }) => name !== '')
      .map(({ id, name, args, given, extra }) => ({
        type: 'tool_call',
        toolCall: {
          id: id === '' ? randomUUID() : id,
          name: this.#names.fromWire(name),
          args: given ?? parseArguments(args),
        },
        ...(extra !== undefined && {
          providerMetadata: { [METADATA_KEY]: { extra_content: extra } },
        }),
      }));
  }

  #add(fragment: Readonly<Fields>): void {
    const tool = toFields(fragment.function);
    const call = this.#find(fragment, textOf(tool.name)) ?? this.#begin(fragment);
    if (call.id === '') call.id = textOf(fragment.id) ?? '';
    if (call.name === '') call.name = textOf(tool.name) ?? '';
    if (typeof tool.arguments === 'string') call.args += tool.arguments;
    else if (isObject(tool.arguments)) call.given = tool.arguments;
    if (fragment.extra_content !== undefined) call.extra = fragment.extra_content;
  }

  #find(fragment: Readonly<Fields>, name: string | undefined): Call | undefined {
    const index = numberOf(fragment.index);
    const id = textOf(fragment.id) ?? '';
    const call =
      index === undefined
        ? this.#calls.at(-1)
        : this.#calls.findLast((other) => other.index === index);
    if (call === undefined) return undefined;
    const isOther = id !== '' && call.id !== '' && call.id !== id;
    const isNext = index === undefined && id === '' && name !== undefined && name !== '';
    return isOther || isNext ? undefined : call;
  }

  #begin(fragment: Readonly<Fields>): Call {
    const call: Call = { index: numberOf(fragment.index), id: '', name: '', args: '' };
    this.#calls.push(call);
    return call;
  }
}
