// Agent Zero's own HTTP interface: one request per message, answered when the agent is done. While
// it works, its log tells what it does; on the first message of a chat only afterwards, since the
// chat has no name before.

import {
  type CallContext,
  type Envelope,
  type EventBody,
  exceedsDepth,
  FabricError,
  toFields,
} from '@starloom/core';
import { cleanText, settlesWithin } from '@starloom/wire';
import { z } from 'zod';
import type { JsonRequests } from '../http/json-requests.ts';
import type { ProfileCall } from '../http/profile.ts';
import { NOBODY_READS } from '../http/readers.ts';
import { failure } from '../reasons.ts';
import { toPrompt } from '../upstream/prompt-text.ts';
import { type AgentZeroLane, badAnswer, ClientLane, chatFailure, chatOf } from './lane.ts';

const LOG_LENGTH = 100;
/** Of versions 1 and later, then of those before. */
const PREFIXES = ['/api', ''] as const;

export class HttpLane extends ClientLane implements AgentZeroLane {
  #prefix: string | undefined;

  async *call({ envelope, context, requests: all }: ProfileCall): AsyncIterable<EventBody> {
    const body = this.#toBody(envelope);
    const chat = chatOf(context.handle);
    const log = new ChatLog();
    const left = new AbortController();
    const requests = all.until(AbortSignal.any([context.signal, left.signal]));
    if (chat !== undefined) log.skip(await this.#readLog(chat, requests).catch(throwUnsent));
    let isDone = false;
    try {
      const message = { ...body, ...(chat !== undefined && { context_id: chat }) };
      const pending = this.#post('api_message', message, requests);
      while (chat !== undefined && !(await settlesWithin(pending, this.options.poll_ms))) {
        yield* this.#news(chat, log, requests, context);
      }
      const { context_id, response } = this.#read(await pending.catch(throwFor(chat)));
      isDone = true;
      if (context_id !== undefined) yield* this.#news(context_id, log, requests, context);
      yield* log.end();
      this.#keep(context_id, context, requests);
      yield { type: 'final', data: { answer: response } };
    } finally {
      left.abort(NOBODY_READS);
      const isCancelled = !isDone && context.signal.aborted;
      if (isCancelled && this.options.terminate_on_cancel) this.#terminate(chat, requests);
    }
  }

  /** Reads the log of a chat that does not exist: only this interface answers that with its own error. */
  async probe(context: CallContext): Promise<void> {
    const error = await this.#readLog('starloom-probe', this.requests(context)).then(
      () => undefined,
      (thrown: unknown) => FabricError.from(thrown),
    );
    if (error && !isUnknownChat(error)) throw error;
  }

  /** Events of new log entries; a log that cannot be read is passed over. */
  async *#news(
    chat: string,
    log: ChatLog,
    requests: JsonRequests,
    context: CallContext,
  ): AsyncGenerator<EventBody, void, undefined> {
    const reading = await this.#readLog(chat, requests).catch((error: unknown) => {
      context.log.debug({ error }, 'the log of the chat cannot be read');
    });
    yield* log.read(reading);
  }

  #read(value: unknown): { readonly context_id: string | undefined; readonly response: string } {
    const { context_id, response, error } = toFields(value);
    if (typeof error === 'string') throw chatFailure(this.client.excerpt(error));
    if (typeof response !== 'string') throw badAnswer('no response');
    return { response, context_id: chatOf({ chat: context_id }) };
  }

  #keep(chat: string | undefined, { keep }: CallContext, requests: JsonRequests): void {
    if (chat === undefined) return;
    if (this.options.keep_chats) keep?.({ chat });
    else this.#terminate(chat, requests);
  }

  #readLog(chat: string, requests: JsonRequests): Promise<unknown> {
    return this.#post('api_log_get', { context_id: chat, length: LOG_LENGTH }, requests);
  }

  #terminate(chat: string | undefined, requests: JsonRequests): void {
    if (chat === undefined) return;
    void requests.late('the chat was not ended', (late) =>
      this.#post('api_terminate_chat', { context_id: chat }, late),
    );
  }

  async #post(name: string, body: object, requests: JsonRequests): Promise<unknown> {
    for (const prefix of this.#prefix === undefined ? PREFIXES : [this.#prefix]) {
      try {
        const value = await this.post(`${prefix}/${name}`, body, requests);
        this.#prefix = prefix;
        return value;
      } catch (error) {
        if (!isNoPath(FabricError.from(error))) throw error;
      }
    }
    throw failure('not_found/interface');
  }

  #toBody({ input }: Envelope) {
    const { project, profile } = this.options;
    const attachments = input.attachments.map(({ name = 'attachment', text, data }) => {
      const base64 = text === undefined ? data : Buffer.from(text, 'utf8').toString('base64');
      if (base64 === undefined)
        throw failure('attachments_unsupported/form', { takes: 'text or data' });
      return { filename: name, base64 };
    });
    return {
      message: toPrompt(input),
      ...(attachments.length > 0 && { attachments }),
      ...(project !== undefined && { project_name: project }),
      ...(profile !== undefined && { agent_profile: profile }),
    };
  }
}

/** The server has no such path, so nothing was done. */
function isNoPath(error: FabricError): boolean {
  const { status } = error.details;
  return status === 405 || (status === 404 && !isUnknownChat(error));
}

/** 404 with an error of the agent itself; the page of another server has none. */
function isUnknownChat({ details }: FabricError): boolean {
  const said = toFields(details.upstream).text;
  return details.status === 404 && typeof said === 'string' && said.includes('"error"');
}

function throwFor(chat: string | undefined): (thrown: unknown) => never {
  return (thrown) => {
    const error = FabricError.from(thrown);
    throw chat !== undefined && isUnknownChat(error) ? failure('unknown_conversation/chat') : error;
  };
}

function throwUnsent(thrown: unknown): never {
  const error = FabricError.from(thrown);
  throw (isUnknownChat(error) ? failure('unknown_conversation/chat') : error).with({ sent: false });
}

const MAX_TEXT = 2_000;
/** Of one reading. */
const MAX_ENTRIES = 1_000;

const TOOLS: ReadonlySet<string> = new Set(['tool', 'mcp', 'code_exe', 'browser', 'subagent']);
/** Entries that repeat what the caller wrote, or the answer. */
const SILENT: ReadonlySet<string> = new Set(['user', 'input', 'response']);

const entrySchema = z.object({
  no: z.int().nonnegative(),
  type: z.string(),
  heading: z.string().nullish(),
  content: z.string().nullish(),
  kvps: z.record(z.string(), z.unknown()).nullish(),
});

type Entry = z.infer<typeof entrySchema>;

/**
 * The log of a chat as our events. It is read again and again; an entry may come several times and
 * grow in between, so entries are known by their number, and the last form of each counts.
 */
class ChatLog {
  /** Number of the newest entry that was looked at. */
  #seen = -1;
  #open: Entry | undefined;

  /** Marks all entries as seen: they are older than this call. */
  skip(answer: unknown): void {
    for (const { no } of entriesIn(answer)) this.#seen = Math.max(this.#seen, no);
  }

  /** What a reading of the log adds. */
  *read(answer: unknown): Generator<EventBody, void, undefined> {
    for (const entry of entriesIn(answer)) {
      if (this.#open?.no === entry.no) this.#open = entry;
      if (entry.no <= this.#seen) continue;
      this.#seen = entry.no;
      yield* this.end();
      if (TOOLS.has(entry.type)) {
        this.#open = entry;
        yield toolCall(entry, 'start');
      } else if (!SILENT.has(entry.type)) {
        const message = textOf(entry.heading) || textOf(entry.content);
        if (message) yield { type: 'progress', data: { message } };
      }
    }
  }

  /** A tool is done when another entry follows, or the call is over. */
  *end(): Generator<EventBody, void, undefined> {
    const open = this.#open;
    this.#open = undefined;
    if (open) yield toolCall(open, 'end');
  }
}

/** In their order, each once. */
function entriesIn(answer: unknown): Entry[] {
  const { items } = toFields(toFields(answer).log);
  const entries = new Map<number, Entry>();
  for (const item of Array.isArray(items) ? items.slice(-MAX_ENTRIES) : []) {
    const entry = entrySchema.safeParse(item);
    if (entry.success) entries.set(entry.data.no, entry.data);
  }
  return [...entries.values()].sort((one, other) => one.no - other.no);
}

function toolCall({ no, type, kvps, content }: Entry, phase: 'start' | 'end'): EventBody {
  const { tool_name, tool_args, ...rest } = kvps ?? {};
  const given = tool_args ?? rest;
  return {
    type: 'tool_call',
    data: {
      id: `log-${no}`,
      name: typeof tool_name === 'string' && tool_name !== '' ? tool_name : type,
      args: exceedsDepth(given) ? {} : given,
      phase,
      ...(phase === 'end' && { result: textOf(content) }),
    },
  };
}

/** Headings begin with the address of an icon. */
function textOf(text: string | null | undefined): string {
  return cleanText((text ?? '').replace(/^icon:\/\/\S*\s*/, ''), MAX_TEXT) ?? '';
}
