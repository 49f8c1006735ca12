// Events of a LangGraph run as ours. Tokens come from `messages`, tool calls and questions from
// `updates`, the answer from the last `values`: there is no event for the end of a run.

import { type EventBody, exceedsDepth, type Fields, toFields } from '@starloom/core';
import type { Excerpt } from '@starloom/wire';
import { failure } from '../../reasons.ts';
import { readEvent } from '../../upstream/read-event.ts';
import { toUpstreamError } from '../../upstream/reported-error.ts';
import { ToolCalls } from '../../upstream/tool-calls.ts';
import { pointTo } from '../json-pointer.ts';
import { type Interrupt, toInterrupts } from './interrupts.ts';
import { badAnswer, toProgress } from './shared.ts';

const INTERRUPT = '__interrupt__';

export class LangGraphTranslator {
  readonly #excerpt: Excerpt;
  readonly #answer: string | undefined;
  readonly #calls = new ToolCalls();
  #text = '';
  #state: Fields | undefined;
  runId: string | undefined;
  /** What the run ended to ask. */
  interrupts: readonly Interrupt[] = [];

  constructor(excerpt: Excerpt, answer: string | undefined) {
    this.#excerpt = excerpt;
    this.#answer = answer;
  }

  *fromEvent(event: string | undefined, value: unknown): Generator<EventBody, void, undefined> {
    // Events of subgraphs are named `updates|<graph>`.
    switch (event?.split('|', 1)[0]) {
      case 'metadata': {
        const { run_id } = toFields(value);
        if (typeof run_id === 'string') this.runId = run_id;
        return;
      }
      case 'messages':
        return yield* this.#fromMessage(toFields(Array.isArray(value) ? value[0] : undefined));
      case 'updates':
        return yield* this.#fromUpdates(toFields(value));
      case 'values':
        if (event === 'values') this.fromState(value);
        return;
      case 'custom':
        return yield toProgress(value);
      case 'error':
        throw this.#failure(toFields(value));
    }
  }

  /** The whole state; an error in it when the run failed. */
  fromState(value: unknown): void {
    const state = toFields(value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw badAnswer('it answered without a state');
    }
    const { __error__: failed } = state;
    if (failed) throw this.#failure(toFields(failed));
    if (exceedsDepth(value)) throw badAnswer('its state is nested too deep');
    this.#noteInterrupts(state[INTERRUPT]);
    this.#state = state;
  }

  *ending(): Generator<EventBody, void, undefined> {
    if (!this.#state) throw failure('no_final');
    const { messages, [INTERRUPT]: _, ...rest } = this.#state;
    const hasMessages = Array.isArray(messages);
    const pointed = this.#answer === undefined ? undefined : pointTo(this.#state, this.#answer);
    if (!hasMessages && this.#answer === undefined && Object.keys(rest).length === 0) {
      throw badAnswer('it ended with an empty state');
    }
    const said = hasMessages ? lastText(messages) : undefined;
    const answer = pointed ?? said ?? (this.#text || rest);
    yield* this.#calls.startAll();
    yield readEvent('final', {
      answer: typeof answer === 'string' ? answer : JSON.stringify(answer),
      ...(Object.keys(rest).length > 0 && { data: rest }),
    });
  }

  *#fromMessage(message: Fields): Generator<EventBody, void, undefined> {
    if (message.type === 'tool') yield* this.#toolResult(message);
    if (message.type !== 'AIMessageChunk' && message.type !== 'ai') return;
    const text = contentText(message.content);
    this.#text += text;
    if (text !== '') yield { type: 'token', data: { text } };
  }

  *#fromUpdates(updates: Fields): Generator<EventBody, void, undefined> {
    this.#noteInterrupts(updates[INTERRUPT]);
    for (const update of Object.values(updates)) {
      const { messages } = toFields(update);
      for (const message of (Array.isArray(messages) ? messages : [messages]).map(toFields)) {
        if (message.type === 'tool') yield* this.#toolResult(message);
        else yield* this.#toolCalls(message.tool_calls);
      }
    }
  }

  *#toolCalls(calls: unknown): Generator<EventBody, void, undefined> {
    if (!Array.isArray(calls)) return;
    for (const { id, name, args } of calls.map(toFields)) {
      if (typeof id !== 'string' || this.#calls.has(id)) continue;
      this.#calls.add(id, { id, name, arguments: args ?? {} });
      yield* this.#calls.start(id);
    }
  }

  *#toolResult({ tool_call_id, content }: Fields): Generator<EventBody, void, undefined> {
    if (typeof tool_call_id === 'string') yield* this.#calls.end(tool_call_id, content ?? null);
  }

  #noteInterrupts(value: unknown): void {
    if (!Array.isArray(value)) return;
    this.interrupts = toInterrupts(
      value.map(toFields).map((each) => {
        return { id: each.id, said: each.value, schema: each.response_schema, native: each };
      }),
    );
    if (this.interrupts.length === 0) throw badAnswer('it asks nothing that has an id');
  }

  #failure({ error: code, message }: Fields) {
    return failure('tool_error/run', {
      upstream: toUpstreamError({ code, message }, this.#excerpt),
    });
  }
}

/** Of the last message of the agent. */
function lastText(messages: readonly unknown[]): string | undefined {
  const last = messages.map(toFields).findLast(({ type, role }) => {
    return type === 'ai' || type === 'AIMessageChunk' || role === 'assistant';
  });
  return last && contentText(last.content);
}

/** A text, or a list of parts of which some are. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (typeof part === 'string' ? part : toFields(part).text))
    .filter((text) => typeof text === 'string')
    .join('');
}
