// Agents that speak OpenAI's Chat Completions, which is what most model servers speak. The interface
// keeps no conversation: with `history_bytes` the last messages travel in the conversation id.

import { type Attachment, type EventBody, toFields } from '@starloom/core';
import { cleanText, type Excerpt } from '@starloom/wire';
import { failure } from '../../reasons.ts';
import { readEvent } from '../../upstream/read-event.ts';
import { ToolCalls } from '../../upstream/tool-calls.ts';
import type { OptionsOf } from '../options.ts';
import type { ProfileCall } from '../profile.ts';
import { lastMessages, messagesIn } from './history.ts';
import { OpenAiProfile, openAiFailure } from './openai-profile.ts';
import { badAnswer, isImage, refusedFile, toFileUrl, toImagePart, toInputParts } from './shared.ts';

export class OpenAiChatProfile extends OpenAiProfile<OptionsOf<'openai-chat'>> {
  async *call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined> {
    const { system, history_bytes } = this.options;
    const before = messagesIn(call.context.handle);
    const asked = { role: 'user', content: toContent(call) };
    const instructions = system ? [{ role: 'system', content: system }] : [];
    const messages = [...instructions, ...before, asked];
    const chat = new ChatTranslator(this.client.excerpt);
    for await (const item of this.ask(call, '/chat/completions', { messages })) {
      if (item.type === 'value') yield* chat.fromChunk(item.value);
      if (item.type !== 'final') continue;
      if (item.value !== undefined) yield* chat.fromDocument(item.value);
      const ending = [...chat.ending(item.value !== undefined || item.done === true)];
      const answer = { role: 'assistant', content: chat.text };
      const kept = lastMessages([...before, asked, answer], history_bytes);
      if (kept.length > 0) call.context.keep?.({ messages: kept });
      return yield* ending;
    }
  }
}

class ChatTranslator {
  readonly #excerpt: Excerpt;
  readonly #calls = new ToolCalls();
  #finish: string | undefined;
  text = '';

  constructor(excerpt: Excerpt) {
    this.#excerpt = excerpt;
  }

  *fromChunk(value: unknown): Generator<EventBody, void, undefined> {
    const { error, choices } = toFields(value);
    if (error) throw openAiFailure(error, this.#excerpt);
    // The chunk with the usage has no choices.
    const { delta, finish_reason } = toFields(Array.isArray(choices) ? choices[0] : undefined);
    if (typeof finish_reason === 'string') this.#finish = finish_reason;
    const { content, refusal, reasoning_content, reasoning, tool_calls } = toFields(delta);
    const thought = cleanText(reasoning_content ?? reasoning, 16_384);
    if (thought) yield { type: 'progress', data: { message: thought } };
    this.#addCalls(tool_calls);
    for (const text of [content, refusal]) {
      if (typeof text !== 'string' || text === '') continue;
      this.text += text;
      yield { type: 'token', data: { text } };
    }
  }

  *fromDocument(value: unknown): Generator<EventBody, void, undefined> {
    const { error, choices } = toFields(value);
    if (error) throw openAiFailure(error, this.#excerpt);
    if (!Array.isArray(choices) || choices.length === 0) {
      throw badAnswer('it answered without choices');
    }
    const { message, finish_reason } = toFields(choices[0]);
    const { content, refusal, tool_calls } = toFields(message);
    this.#finish = typeof finish_reason === 'string' ? finish_reason : 'stop';
    this.#addCalls(tool_calls);
    this.text = [content, refusal].filter((text) => typeof text === 'string').join('');
  }

  /** Throws for an answer that was cut off. */
  *ending(isDone: boolean): Generator<EventBody, void, undefined> {
    if (this.#finish === undefined && !(isDone && this.text !== '')) throw failure('no_final');
    if (this.#finish === 'length' || this.#finish === 'content_filter') {
      const isLong = this.#finish === 'length';
      const problem = isLong ? 'reached its length limit' : 'was stopped by a filter';
      throw failure('tool_error/cut_off', { problem, upstream: { finish_reason: this.#finish } });
    }
    yield* this.#calls.startAll();
    const data = this.#calls.size > 0 ? { tool_calls: this.#calls.toData() } : undefined;
    yield readEvent('final', { answer: this.text, ...(data && { data }) });
  }

  #addCalls(calls: unknown): void {
    if (!Array.isArray(calls)) return;
    for (const [at, call] of calls.entries()) {
      const { index = at, id, function: called } = toFields(call);
      const { name, arguments: text } = toFields(called);
      this.#calls.add(String(index), { id, name, arguments: text });
    }
  }
}

function toContent({ envelope }: ProfileCall): unknown {
  const { text, files } = toInputParts(envelope.input);
  if (files.length === 0) return text;
  return [{ type: 'text', text }, ...files.map(toPart)];
}

function toPart(file: Attachment): object {
  if (isImage(file)) return toImagePart(file);
  if (file.data === undefined) throw refusedFile(file);
  return { type: 'file', file: { filename: file.name ?? 'file', file_data: toFileUrl(file) } };
}
