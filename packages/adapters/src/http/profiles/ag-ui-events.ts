// Events of AG-UI as ours. Unknown types are passed over, as the protocol asks.

import { type EventBody, toFields } from '@starloom/core';
import { cleanText, type Excerpt } from '@starloom/wire';
import { type Interrupt, toInterrupts } from './interrupts.ts';
import { agentError, badAnswer, eventOf } from './shared.ts';
import { toProgress } from './to-progress.ts';
import { ChatToolCalls } from './tool-calls.ts';

type Fields = Readonly<Record<string, unknown>>;

export class AgUiTranslator {
  readonly #excerpt: Excerpt;
  readonly #calls = new ChatToolCalls();
  /** Texts of the agent, by message. */
  readonly #texts = new Map<string, string>();
  readonly #foreign = new Set<string>();
  #lastCall = '';
  #lastMessage = '';
  #result: unknown;
  #reasoning = '';
  isOver = false;
  /** What the run ended to ask. */
  interrupts: readonly Interrupt[] | undefined;

  constructor(excerpt: Excerpt) {
    this.#excerpt = excerpt;
  }

  get text(): string {
    return [...this.#texts.values()].filter((text) => text !== '').join('\n\n');
  }

  *fromEvent(value: unknown): Generator<EventBody, void, undefined> {
    const event = toFields(value);
    if (typeof event.type !== 'string') throw badAnswer('The agent sent an event without a type');
    const { type } = event;
    if (type.startsWith('TEXT_MESSAGE_')) yield* this.#fromText(event);
    else if (type.startsWith('TOOL_CALL_')) yield* this.#fromCall(event);
    else if (type.startsWith('REASONING_')) yield* this.#fromReasoning(event);
    else yield* this.#fromRun(event);
  }

  /** The end of a run that finished. */
  *ending(): Generator<EventBody, void, undefined> {
    yield* this.#calls.startAll();
    const data = this.#result === undefined || this.#result === null ? {} : { data: this.#result };
    yield eventOf('final', { answer: this.text, ...data });
  }

  *#fromRun(event: Fields): Generator<EventBody, void, undefined> {
    switch (event.type) {
      case 'RUN_STARTED':
        yield { type: 'status', data: { state: 'started' } };
        return;
      case 'RUN_FINISHED':
        this.#finish(event);
        return;
      case 'RUN_ERROR':
        throw agentError('The run of the agent failed', {
          ...(typeof event.code === 'string' && { code: this.#excerpt(event.code) }),
          message: this.#excerpt(String(event.message ?? '')) || 'The agent gave no reason',
        });
      case 'STEP_STARTED':
        yield toProgress(undefined, event.stepName);
        return;
      case 'CUSTOM':
        yield toProgress(event.value, event.name);
        return;
      case 'ACTIVITY_SNAPSHOT':
        yield toProgress(event.content, event.activityType);
        return;
    }
  }

  #finish({ outcome, result }: Fields): void {
    const { type = 'success', interrupts } = toFields(outcome);
    if (type === 'cancelled') {
      throw agentError('The run was cancelled at the agent', { status: 'cancelled' });
    }
    this.#result = result;
    this.isOver = type !== 'interrupt';
    if (type !== 'interrupt') return;
    const asked = Array.isArray(interrupts) ? interrupts.map(toFields) : [];
    this.interrupts = toInterrupts(
      asked.map((each) => {
        const { id, message, reason, responseSchema: schema } = each;
        return { id, said: message ?? reason, schema, native: each };
      }),
    );
    if (this.interrupts.length === 0) throw badAnswer('The agent asks nothing that has an id');
  }

  *#fromText(event: Fields): Generator<EventBody, void, undefined> {
    const { type, role, delta } = event;
    const id = typeof event.messageId === 'string' ? event.messageId : this.#lastMessage;
    this.#lastMessage = id;
    if (typeof role === 'string' && role !== 'assistant') this.#foreign.add(id);
    const isContent = type === 'TEXT_MESSAGE_CONTENT' || type === 'TEXT_MESSAGE_CHUNK';
    if (!isContent || this.#foreign.has(id)) return;
    if (delta === undefined && type === 'TEXT_MESSAGE_CHUNK') return;
    if (typeof delta !== 'string') throw badAnswer('The agent sent a malformed token');
    const isNew = !this.#texts.has(id) && this.text !== '';
    this.#texts.set(id, (this.#texts.get(id) ?? '') + delta);
    if (delta !== '') yield { type: 'token', data: { text: isNew ? `\n\n${delta}` : delta } };
  }

  *#fromCall(event: Fields): Generator<EventBody, void, undefined> {
    const id = typeof event.toolCallId === 'string' ? event.toolCallId : this.#lastCall;
    if (id === '') throw badAnswer('The agent sent a tool call without an id');
    this.#lastCall = id;
    switch (event.type) {
      case 'TOOL_CALL_START':
      case 'TOOL_CALL_ARGS':
      case 'TOOL_CALL_CHUNK':
        this.#calls.add(id, { id, name: event.toolCallName, arguments: event.delta });
        return;
      case 'TOOL_CALL_END':
        yield* this.#calls.start(id);
        return;
      case 'TOOL_CALL_RESULT':
        yield* this.#calls.end(id, event.content ?? null);
        return;
    }
  }

  /** A thought is shown when it is whole. */
  *#fromReasoning({ type, delta }: Fields): Generator<EventBody, void, undefined> {
    const isContent = type === 'REASONING_MESSAGE_CONTENT' || type === 'REASONING_MESSAGE_CHUNK';
    if (isContent && typeof delta === 'string' && this.#reasoning.length < 16_384) {
      this.#reasoning += delta;
    }
    if (type !== 'REASONING_MESSAGE_END' && type !== 'REASONING_END') return;
    const message = cleanText(this.#reasoning, 16_384);
    this.#reasoning = '';
    if (message) yield { type: 'progress', data: { message } };
  }
}
