// Agents that speak AG-UI 1.0: one POST per run, answered by a stream of typed events. A thread is a
// conversation; an interrupt is a question, answered in the next run.

import { randomUUID } from 'node:crypto';
import {
  type Attachment,
  type EventBody,
  type Fields,
  type InputResponse,
  readTask,
  toFields,
} from '@starloom/core';
import { cleanText, type Excerpt } from '@starloom/wire';
import { failure } from '../../reasons.ts';
import { readEvent } from '../../upstream/read-event.ts';
import { toUpstreamError } from '../../upstream/reported-error.ts';
import { ToolCalls } from '../../upstream/tool-calls.ts';
import type { OptionsOf } from '../options.ts';
import type { ProfileCall } from '../profile.ts';
import { type HistoryMessage, lastMessages, messagesIn } from './history.ts';
import { type Interrupt, runWithQuestions, toInterrupts, toPayload } from './interrupts.ts';
import { AskProfile, badAnswer, keptId, refusedFile, toProgress } from './shared.ts';

const VERSION = '1.0';

export class AgUiProfile extends AskProfile<OptionsOf<'ag-ui'>> {
  call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined> {
    return new AgUiCall(this.options, call).events();
  }
}

interface ResumeEntry {
  readonly interruptId: string;
  readonly status: 'resolved' | 'cancelled';
  readonly payload: unknown;
}

class AgUiCall {
  readonly #options: OptionsOf<'ag-ui'>;
  readonly #call: ProfileCall;
  readonly #threadId: string;
  readonly #messages: readonly HistoryMessage[];

  constructor(options: OptionsOf<'ag-ui'>, call: ProfileCall) {
    const { context, envelope } = call;
    this.#options = options;
    this.#call = call;
    this.#threadId = keptId(context, 'thread_id') ?? randomUUID();
    const asked = { role: 'user', content: toContent(envelope.input) };
    // What is answered was asked before, and stands in the history already.
    const before = messagesIn(context.handle);
    this.#messages = context.responses && before.length > 0 ? before : [...before, asked];
  }

  events(): AsyncGenerator<EventBody, void, undefined> {
    return runWithQuestions<readonly ResumeEntry[] | undefined>({
      context: this.#call.context,
      begin: () => undefined,
      resume: toResume,
      run: (resume) => this.#run(resume),
      handle: () => this.#handle(),
    });
  }

  async *#run(
    resume: readonly ResumeEntry[] | undefined,
  ): AsyncGenerator<EventBody, readonly Interrupt[], undefined> {
    const { requests } = this.#call;
    const { excerpt, target } = requests.client;
    const translator = new AgUiTranslator(excerpt);
    const body = this.#toInput(resume);
    for await (const item of requests.stream({ method: 'POST', path: target.path, body })) {
      if (item.type === 'final' && item.value !== undefined) {
        throw badAnswer('it answered without a stream of events');
      }
      if (item.type !== 'value') continue;
      yield* translator.fromEvent(item.value);
      if (translator.interrupts) return translator.interrupts;
      if (!translator.isOver) continue;
      this.#keep(translator.text);
      yield* translator.ending();
      return [];
    }
    throw failure('no_final');
  }

  #toInput(resume: readonly ResumeEntry[] | undefined): object {
    const { rest } = readTask(this.#call.envelope.input);
    return {
      threadId: this.#threadId,
      runId: randomUUID(),
      protocolVersion: VERSION,
      state: {},
      messages: this.#messages.map((message, index) => ({
        id: `message-${index + 1}`,
        ...message,
      })),
      tools: [],
      context: Object.entries(rest).map(([description, value]) => {
        return { description, value: typeof value === 'string' ? value : JSON.stringify(value) };
      }),
      forwardedProps: this.#options.forwarded,
      ...(resume && { resume }),
    };
  }

  #keep(answer: string): void {
    const said = { role: 'assistant', content: answer };
    this.#call.context.keep?.(this.#handle([...this.#messages, said]));
  }

  #handle(all = this.#messages) {
    const messages = lastMessages(all, this.#options.history_bytes);
    return { thread_id: this.#threadId, ...(messages.length > 0 && { messages }) };
  }
}

function toResume(ids: readonly string[], responses: readonly InputResponse[]): ResumeEntry[] {
  return ids.flatMap((interruptId, index) => {
    const response = responses[index];
    if (!response) return [];
    const status = response.action === 'accept' ? 'resolved' : 'cancelled';
    return [{ interruptId, status, payload: toPayload(response) }];
  });
}

function toContent(input: ProfileCall['envelope']['input']): unknown {
  const { text } = readTask(input);
  if (input.attachments.length === 0) return text;
  return [{ type: 'text', text }, ...input.attachments.map(toPart)];
}

function toPart(file: Attachment): object {
  const { media_type: mimeType, text, data, uri } = file;
  if (text !== undefined) return { type: 'text', text };
  const kind = /^(image|audio|video)\//.exec(mimeType)?.[1] ?? 'document';
  if (data !== undefined) return { type: kind, source: { type: 'data', value: data, mimeType } };
  if (uri !== undefined) return { type: kind, source: { type: 'url', value: uri, mimeType } };
  throw refusedFile(file);
}

/** Events of AG-UI as ours. Unknown types are passed over, as the protocol asks. */
class AgUiTranslator {
  readonly #excerpt: Excerpt;
  readonly #calls = new ToolCalls();
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
    if (typeof event.type !== 'string') throw badAnswer('it sent an event without a type');
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
    yield readEvent('final', { answer: this.text, ...data });
  }

  *#fromRun(event: Fields): Generator<EventBody, void, undefined> {
    switch (event.type) {
      case 'RUN_STARTED':
        return yield { type: 'status', data: { state: 'started' } };
      case 'RUN_FINISHED':
        this.#finish(event);
        return;
      case 'RUN_ERROR':
        throw failure('tool_error/run', { upstream: toUpstreamError(event, this.#excerpt) });
      case 'STEP_STARTED':
        return yield toProgress(undefined, event.stepName);
      case 'CUSTOM':
        return yield toProgress(event.value, event.name);
      case 'ACTIVITY_SNAPSHOT':
        return yield toProgress(event.content, event.activityType);
    }
  }

  #finish({ outcome, result }: Fields): void {
    const { type = 'success', interrupts } = toFields(outcome);
    if (type === 'cancelled') {
      throw failure('tool_error/cancelled', { upstream: { status: 'cancelled' } });
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
    if (this.interrupts.length === 0) throw badAnswer('it asks nothing that has an id');
  }

  *#fromText(event: Fields): Generator<EventBody, void, undefined> {
    const { type, role, delta } = event;
    const id = typeof event.messageId === 'string' ? event.messageId : this.#lastMessage;
    this.#lastMessage = id;
    if (typeof role === 'string' && role !== 'assistant') this.#foreign.add(id);
    const isContent = type === 'TEXT_MESSAGE_CONTENT' || type === 'TEXT_MESSAGE_CHUNK';
    if (!isContent || this.#foreign.has(id)) return;
    if (delta === undefined && type === 'TEXT_MESSAGE_CHUNK') return;
    if (typeof delta !== 'string') throw badAnswer('it sent a malformed token');
    const isNew = !this.#texts.has(id) && this.text !== '';
    this.#texts.set(id, (this.#texts.get(id) ?? '') + delta);
    if (delta !== '') yield { type: 'token', data: { text: isNew ? `\n\n${delta}` : delta } };
  }

  *#fromCall(event: Fields): Generator<EventBody, void, undefined> {
    const id = typeof event.toolCallId === 'string' ? event.toolCallId : this.#lastCall;
    if (id === '') throw badAnswer('it sent a tool call without an id');
    this.#lastCall = id;
    switch (event.type) {
      case 'TOOL_CALL_START':
      case 'TOOL_CALL_ARGS':
      case 'TOOL_CALL_CHUNK':
        this.#calls.add(id, { id, name: event.toolCallName, arguments: event.delta });
        return;
      case 'TOOL_CALL_END':
        return yield* this.#calls.start(id);
      case 'TOOL_CALL_RESULT':
        return yield* this.#calls.end(id, event.content ?? null);
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
