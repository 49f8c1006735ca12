// Agents that speak AG-UI 1.0: one POST per run, answered by a stream of typed events. A thread is a
// conversation; an interrupt is a question, answered in the next run.

import { randomUUID } from 'node:crypto';
import { type Attachment, type EventBody, FabricError, type InputResponse } from '@starloom/core';
import { splitTask } from '../../upstream/prompt-text.ts';
import { withoutSent } from '../../upstream/without-sent.ts';
import type { HttpClient } from '../http-client.ts';
import { streamJson } from '../json-values.ts';
import { noFinal, type ProfileCall } from '../profile.ts';
import { noAttachments } from '../template/profile.ts';
import { AgUiTranslator } from './ag-ui-events.ts';
import { AskProfile } from './ask-profile.ts';
import { type HistoryMessage, lastMessages, messagesIn } from './history.ts';
import { answersTo, type Interrupt, interruptsIn, toPayload } from './interrupts.ts';
import { badAnswer, headersOf, keptId, requestsOf } from './shared.ts';

const VERSION = '1.0';
/** Questions in one call. */
const MAX_LEGS = 100;

export interface AgUiOptions {
  readonly history_bytes: number;
  readonly forwarded: Readonly<Record<string, unknown>>;
}

export class AgUiProfile extends AskProfile<AgUiOptions> {
  readonly healthPath = this.client.target.path;

  call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined> {
    return new AgUiCall(this.client, this.options, call).events();
  }
}

interface ResumeEntry {
  readonly interruptId: string;
  readonly status: 'resolved' | 'cancelled';
  readonly payload: unknown;
}

class AgUiCall {
  readonly #client: HttpClient;
  readonly #options: AgUiOptions;
  readonly #call: ProfileCall;
  readonly #threadId: string;
  readonly #messages: readonly HistoryMessage[];

  constructor(client: HttpClient, options: AgUiOptions, call: ProfileCall) {
    const { context, envelope } = call;
    this.#client = client;
    this.#options = options;
    this.#call = call;
    this.#threadId = keptId(context, 'thread_id') ?? randomUUID();
    const asked = { role: 'user', content: toContent(envelope.input) };
    // What is answered was asked before, and stands in the history already.
    const before = messagesIn(context.handle);
    this.#messages = context.responses && before.length > 0 ? before : [...before, asked];
  }

  async *events(): AsyncGenerator<EventBody, void, undefined> {
    const { handle, responses } = this.#call.context;
    let resume = responses && toResume(interruptsIn(handle), responses);
    for (let leg = 0; leg < MAX_LEGS; leg += 1) {
      const interrupts: readonly Interrupt[] | undefined = yield* this.#run(resume, leg > 0);
      if (!interrupts) return;
      const answers = await answersTo(this.#call.context, interrupts, this.#handle());
      const ids = interrupts.map(({ id }) => id);
      resume = toResume(ids, answers);
    }
    throw new FabricError('UPSTREAM_ERROR', 'The agent asks again and again', {
      details: { reason: 'too_many_questions', limit: MAX_LEGS },
    });
  }

  /** One run: its events, and what it ended to ask. */
  async *#run(
    resume: readonly ResumeEntry[] | undefined,
    isLater: boolean,
  ): AsyncGenerator<EventBody, readonly Interrupt[] | undefined, undefined> {
    const translator = new AgUiTranslator(this.#client.excerpt);
    const { path } = this.#client.target;
    const headers = headersOf(this.#call);
    const request = { method: 'POST', path, headers, body: this.#toInput(resume) } as const;
    try {
      for await (const item of streamJson(this.#client, request, requestsOf(this.#call))) {
        if (item.type === 'final' && item.value !== undefined) {
          throw badAnswer('The agent answered without a stream of events');
        }
        if (item.type !== 'value') continue;
        yield* translator.fromEvent(item.value);
        if (translator.interrupts) return translator.interrupts;
        if (!translator.isOver) continue;
        this.#keep(translator.text);
        yield* translator.ending();
        return undefined;
      }
    } catch (error) {
      throw isLater ? withoutSent(error) : error;
    }
    throw noFinal();
  }

  #toInput(resume: readonly ResumeEntry[] | undefined): object {
    const { rest } = splitTask(this.#call.envelope.input);
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
    const { history_bytes } = this.#options;
    const all = [...this.#messages, { role: 'assistant', content: answer }];
    const messages = lastMessages(all, history_bytes);
    const history = messages.length > 0 ? { messages } : {};
    this.#call.context.keep?.({ thread_id: this.#threadId, ...history });
  }

  #handle() {
    const { history_bytes } = this.#options;
    const messages = lastMessages(this.#messages, history_bytes);
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
  const { text } = splitTask(input);
  if (input.attachments.length === 0) return text;
  return [{ type: 'text', text }, ...input.attachments.map(toPart)];
}

function toPart({ media_type: mimeType, text, data, uri }: Attachment): object {
  if (text !== undefined) return { type: 'text', text };
  const kind = /^(image|audio|video)\//.exec(mimeType)?.[1] ?? 'document';
  if (data !== undefined) return { type: kind, source: { type: 'data', value: data, mimeType } };
  if (uri !== undefined) return { type: kind, source: { type: 'url', value: uri, mimeType } };
  throw noAttachments(mimeType);
}
