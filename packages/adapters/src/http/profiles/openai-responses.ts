// Agents that speak OpenAI's Responses. A conversation goes on by the id of the last response.

import {
  type Attachment,
  type Citation,
  type EventBody,
  type Fields,
  toFields,
} from '@starloom/core';
import { cleanText, type Excerpt } from '@starloom/wire';
import { failure } from '../../reasons.ts';
import { readEvent } from '../../upstream/read-event.ts';
import { ToolCalls } from '../../upstream/tool-calls.ts';
import type { OptionsOf } from '../options.ts';
import type { ProfileCall } from '../profile.ts';
import { OpenAiProfile, openAiFailure } from './openai-profile.ts';
import { badAnswer, isImage, keptId, refusedFile, toFileUrl, toInputParts } from './shared.ts';

export class OpenAiResponsesProfile extends OpenAiProfile<OptionsOf<'openai-responses'>> {
  async *call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined> {
    const { system } = this.options;
    const previous = keptId(call.context, 'response_id');
    const asked = {
      ...(system !== undefined && { instructions: system }),
      input: [{ role: 'user', content: toContent(call) }],
      ...(previous !== undefined && { previous_response_id: previous }),
    };
    const translator = new ResponseTranslator(this.client.excerpt, call);
    for await (const item of this.ask(call, '/responses', asked)) {
      if (item.type === 'value') yield* translator.fromEvent(item.value);
      if (item.type === 'final' && item.value !== undefined) yield* translator.ending(item.value);
      if (translator.isOver) return;
    }
    throw failure('no_final');
  }
}

class ResponseTranslator {
  readonly #excerpt: Excerpt;
  readonly #call: ProfileCall;
  readonly #calls = new ToolCalls();
  #text = '';
  isOver = false;

  constructor(excerpt: Excerpt, call: ProfileCall) {
    this.#excerpt = excerpt;
    this.#call = call;
  }

  *fromEvent(value: unknown): Generator<EventBody, void, undefined> {
    const event = toFields(value);
    switch (event.type) {
      case 'response.created':
        return yield { type: 'status', data: { state: 'started' } };
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        if (typeof event.delta !== 'string') throw badAnswer('it sent a malformed token');
        this.#text += event.delta;
        if (event.delta !== '') yield { type: 'token', data: { text: event.delta } };
        return;
      case 'response.reasoning_summary_text.done': {
        const message = cleanText(event.text, 16_384);
        if (message) yield { type: 'progress', data: { message } };
        return;
      }
      case 'response.output_item.added':
        return yield* this.#fromItem(event.item, false);
      case 'response.output_item.done':
        return yield* this.#fromItem(event.item, true);
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return yield* this.ending(event.response);
      case 'error':
        throw openAiFailure(event.error ?? event, this.#excerpt);
    }
  }

  /** The response as a whole, at the end of a stream or instead of one. */
  *ending(value: unknown): Generator<EventBody, void, undefined> {
    const response = toFields(value);
    const { status, error, incomplete_details, output, id } = response;
    if (error || status === 'failed') throw openAiFailure(error, this.#excerpt);
    if (status === 'incomplete' || status === 'cancelled') {
      const { reason } = toFields(incomplete_details);
      const why = typeof reason === 'string' ? { incomplete: this.#excerpt(reason) } : {};
      throw failure('tool_error/incomplete', { upstream: { status, ...why } });
    }
    if (!Array.isArray(output)) throw badAnswer('it answered without an output');
    for (const item of output) yield* this.#fromItem(item, true);
    if (typeof id === 'string' && id !== '') this.#call.context.keep?.({ response_id: id });
    const parts = output.flatMap(textParts);
    const citations = parts.flatMap(({ annotations }) => toCitations(annotations));
    const calls = output.map(toFields).filter(({ type }) => type === 'function_call');
    this.isOver = true;
    yield readEvent('final', {
      answer: parts.map(({ text }) => text).join('') || this.#text,
      ...(citations.length > 0 && { citations }),
      ...(calls.length > 0 && { data: { tool_calls: this.#calls.toData() } }),
    });
  }

  /** Items come when they begin, when they are done, and once more in the whole response. */
  *#fromItem(value: unknown, isDone: boolean): Generator<EventBody, void, undefined> {
    const item = toFields(value);
    const { type, id, call_id, name, server_label } = item;
    if (typeof type !== 'string' || !type.endsWith('_call')) return;
    const key = String(call_id ?? id ?? type);
    const isKnown = this.#calls.has(key);
    const isOwn = type === 'function_call';
    const hasArguments = isOwn || type === 'mcp_call';
    // Their arguments are complete when the item is.
    if (hasArguments && !isDone) return;
    if (!isKnown) {
      const called = typeof server_label === 'string' ? `${server_label}.${name}` : name;
      this.#calls.add(key, {
        id: key,
        name: called ?? type.slice(0, -'_call'.length),
        arguments: item.arguments ?? item.action,
      });
      yield* this.#calls.start(key);
    }
    // Function calls are for the caller to run: they have no result.
    if (isDone && !isOwn) yield* this.#calls.end(key, resultOf(item));
  }
}

function resultOf({ output, results, error, status }: Fields): unknown {
  return error ?? output ?? results ?? status ?? null;
}

function textParts(item: unknown): { readonly text: string; readonly annotations: unknown }[] {
  const { type, content } = toFields(item);
  if (type !== 'message' || !Array.isArray(content)) return [];
  return content.map(toFields).flatMap(({ text, refusal, annotations }) => {
    const said = text ?? refusal;
    return typeof said === 'string' ? [{ text: said, annotations }] : [];
  });
}

function toCitations(annotations: unknown): Citation[] {
  if (!Array.isArray(annotations)) return [];
  return annotations.map(toFields).flatMap(({ url, title, file_id, filename }) => {
    const uri = url ?? file_id;
    const name = title ?? filename;
    if (typeof uri !== 'string') return [];
    return [{ uri, ...(typeof name === 'string' && { title: name }) }];
  });
}

function toContent({ envelope }: ProfileCall): object[] {
  const { text, files } = toInputParts(envelope.input);
  return [{ type: 'input_text', text }, ...files.map(toPart)];
}

function toPart(file: Attachment): object {
  const url = toFileUrl(file);
  if (url !== undefined && isImage(file)) return { type: 'input_image', image_url: url };
  if (file.data !== undefined) {
    return { type: 'input_file', filename: file.name ?? 'file', file_data: url };
  }
  if (file.uri === undefined) throw refusedFile(file);
  return { type: 'input_file', file_url: file.uri };
}
