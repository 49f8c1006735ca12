// Agent Zero's own HTTP interface: one request per message, answered when the agent is done. While
// it works, its log tells what it does; on the first message of a chat only afterwards, since the
// chat has no name before.

import {
  type CallContext,
  type Envelope,
  type EventBody,
  FabricError,
  toFields,
} from '@starloom/core';
import { deadlineSignal, settlesWithin } from '@starloom/wire';
import { NOBODY_READS } from '../http/exchange.ts';
import { type RequestContext, requestJson } from '../http/json-values.ts';
import type { CallNames } from '../upstream/assert-callable.ts';
import { callHeaders } from '../upstream/call-headers.ts';
import { ClientLane } from './client-lane.ts';
import type { AgentZeroLane } from './lane.ts';
import { ChatLog } from './log.ts';
import {
  badAnswer,
  chatFailure,
  chatOf,
  messageOf,
  noChat,
  unsupportedAttachments,
} from './translate.ts';

const LOG_LENGTH = 100;
const ASIDE_MS = 5_000;
/** Of versions 1 and later, then of those before. */
const PREFIXES = ['/api', ''] as const;

export class HttpLane extends ClientLane implements AgentZeroLane {
  #prefix: string | undefined;

  async *call(
    envelope: Envelope,
    context: CallContext,
    names: CallNames,
  ): AsyncIterable<EventBody> {
    const body = this.#toBody(envelope);
    const chat = chatOf(context.handle);
    const log = new ChatLog();
    using stop = stoppable(context.signal);
    const requests = { signal: stop.signal, log: context.log, names };
    if (chat !== undefined) log.skip(await this.#readLog(chat, requests).catch(throwUnsent));
    let isDone = false;
    try {
      const message = { ...body, ...(chat !== undefined && { context_id: chat }) };
      const headers = callHeaders(envelope, context);
      const pending = this.#post('api_message', message, requests, headers);
      while (chat !== undefined && !(await settlesWithin(pending, this.options.poll_ms))) {
        yield* this.#news(chat, log, requests);
      }
      const { context_id, response } = this.#read(await pending.catch(throwFor(chat)));
      isDone = true;
      if (context_id !== undefined) yield* this.#news(context_id, log, requests);
      yield* log.end();
      this.#keep(context_id, context, requests);
      yield { type: 'final', data: { answer: response } };
    } finally {
      const isCancelled = !isDone && context.signal.aborted;
      if (isCancelled && this.options.terminate_on_cancel) this.#terminate(chat, requests);
    }
  }

  /** Asks for the log of a chat that does not exist: only this interface says so in its own words. */
  async probe({ signal, log }: CallContext): Promise<void> {
    const error = await this.#readLog('starloom-probe', { signal, log, names: {} }).then(
      () => undefined,
      (thrown: unknown) => FabricError.from(thrown),
    );
    if (error && !isUnknownChat(error)) throw error;
  }

  /** What the log adds; a log that cannot be read does no harm. */
  async *#news(
    chat: string,
    log: ChatLog,
    requests: RequestContext,
  ): AsyncGenerator<EventBody, void, undefined> {
    const reading = await this.#readLog(chat, requests).catch((error: unknown) => {
      requests.log.debug({ error }, 'the log of the chat cannot be read');
    });
    yield* log.read(reading);
  }

  #read(value: unknown): { readonly context_id: string | undefined; readonly response: string } {
    const { context_id, response, error } = toFields(value);
    if (typeof error === 'string') throw chatFailure(this.client.excerpt(error));
    if (typeof response !== 'string') throw badAnswer('no response');
    return { response, context_id: chatOf({ chat: context_id }) };
  }

  #keep(chat: string | undefined, { keep }: CallContext, requests: RequestContext): void {
    if (chat === undefined) return;
    if (this.options.keep_chats) keep?.({ chat });
    else this.#terminate(chat, requests);
  }

  #readLog(chat: string, requests: RequestContext): Promise<unknown> {
    return this.#post('api_log_get', { context_id: chat, length: LOG_LENGTH }, requests);
  }

  /** Beside a call that is over, so it has its own time. */
  #terminate(chat: string | undefined, { log, names }: RequestContext): void {
    if (chat === undefined) return;
    const deadline = deadlineSignal({ ms: ASIDE_MS });
    const requests = { log, names, signal: deadline.signal };
    this.#post('api_terminate_chat', { context_id: chat }, requests)
      .catch((error: unknown) => log.debug({ error }, 'the chat was not ended'))
      .finally(() => deadline.cancel());
  }

  async #post(
    name: string,
    body: object,
    requests: RequestContext,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    for (const prefix of this.#prefix === undefined ? PREFIXES : [this.#prefix]) {
      const path = this.client.target.pathOf(`${prefix}/${name}`);
      const request = { method: 'POST', path, headers, body } as const;
      try {
        const value = await requestJson(this.client, request, requests);
        this.#prefix = prefix;
        return value;
      } catch (error) {
        if (!isNoPath(FabricError.from(error))) throw error;
      }
    }
    throw new FabricError('CAPABILITY_NOT_FOUND', 'The agent does not serve its HTTP interface', {
      details: { reason: 'not_found', fix: 'check endpoint.uri, and options.lane of the agent' },
    });
  }

  #toBody({ input }: Envelope) {
    const { project, profile } = this.options;
    const attachments = input.attachments.map(({ name = 'attachment', text, data }) => {
      const base64 = text === undefined ? data : Buffer.from(text, 'utf8').toString('base64');
      if (base64 === undefined) throw unsupportedAttachments('text or data');
      return { filename: name, base64 };
    });
    return {
      message: messageOf(input),
      ...(attachments.length > 0 && { attachments }),
      ...(project !== undefined && { project_name: project }),
      ...(profile !== undefined && { agent_profile: profile }),
    };
  }
}

/** A signal that follows another one, and aborts when the call is left. */
function stoppable(parent: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const control = new AbortController();
  const onAbort = () => control.abort(parent.reason);
  if (parent.aborted) onAbort();
  parent.addEventListener('abort', onAbort, { once: true });
  return {
    signal: control.signal,
    [Symbol.dispose]() {
      parent.removeEventListener('abort', onAbort);
      control.abort(NOBODY_READS);
    },
  };
}

/** The address is not served, by whatever stands there; nothing was done. */
function isNoPath(error: FabricError): boolean {
  const { status } = error.details;
  return status === 405 || (status === 404 && !isUnknownChat(error));
}

/** 404 in the agent's own words; any other page has none. */
function isUnknownChat({ details }: FabricError): boolean {
  const said = toFields(details.upstream).text;
  return details.status === 404 && typeof said === 'string' && said.includes('"error"');
}

function throwFor(chat: string | undefined): (thrown: unknown) => never {
  return (thrown) => {
    const error = FabricError.from(thrown);
    throw chat !== undefined && isUnknownChat(error) ? noChat() : error;
  };
}

function throwUnsent(thrown: unknown): never {
  const error = FabricError.from(thrown);
  throw (isUnknownChat(error) ? noChat() : error).with({ sent: false });
}
