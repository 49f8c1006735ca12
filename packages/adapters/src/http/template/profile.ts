// One call by a template: the request, its answer as a document or a stream, and polls for agents that
// answer later. A call that ends early is cancelled at the agent where the manifest says how.

import { type EventBody, FabricError, withoutSent } from '@starloom/core';
import { failure } from '../../reasons.ts';
import { PollPace } from '../../upstream/poll-pace.ts';
import { readEvent } from '../../upstream/read-event.ts';
import type { HttpClient, HttpRequest } from '../http-client.ts';
import { pointTo } from '../json-pointer.ts';
import type { AnswerForms, JsonValue } from '../json-requests.ts';
import type { OptionsOf } from '../options.ts';
import { HttpProfile, type ProfileCall } from '../profile.ts';
import type { Target } from '../target.ts';
import { buildRequest, toSources } from './build-request.ts';
import type { CallTemplate, PollTemplate, RequestTemplate } from './options.ts';
import { fillFromAgent, isPlace, orAgentFault, type Sources, valueFor } from './placeholders.ts';
import { agentFailure, fromEvent, toFinal } from './read-answer.ts';

/** An agent whose requests and answers its manifest describes. */
export class TemplateProfile extends HttpProfile<OptionsOf<'template'>> {
  override get healthPath(): string {
    const { target } = this.client;
    const { health } = this.options;
    return health === undefined ? target.path : target.pathOf(health);
  }

  async *call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined> {
    const { name } = call.capability;
    const { calls, ...rest } = this.options;
    const template = { ...rest, ...(Object.hasOwn(calls, name) && calls[name]) };
    const { request } = template;
    if (!request) throw failure('no_request', { capability: name });
    if (call.envelope.input.attachments.length > 0 && !takesAttachments(request.body)) {
      throw failure('attachments');
    }
    yield* new TemplateCall(template, call).events(request);
  }
}

/** Whether a place of the body is for them. */
function takesAttachments(body: unknown): boolean {
  if (isPlace(body)) return body.$from.startsWith('/attachments');
  return typeof body === 'object' && body !== null && Object.values(body).some(takesAttachments);
}

class TemplateCall {
  readonly #client: HttpClient;
  readonly #template: CallTemplate;
  readonly #call: ProfileCall;
  readonly #kept: Record<string, unknown>;
  #sources: Sources;
  #sent = false;
  #over = false;
  /** The answer has no type, so it is no stream. */
  #isEmpty = false;
  #text = '';

  constructor(template: CallTemplate, call: ProfileCall) {
    this.#client = call.requests.client;
    this.#template = template;
    this.#call = call;
    this.#kept = { ...call.context.handle };
    this.#sources = toSources(call);
  }

  async *events(request: RequestTemplate): AsyncGenerator<EventBody, void, undefined> {
    const { poll } = this.#template;
    const first = this.#build(request);
    try {
      const document = yield* this.#answer(first);
      if (this.#over) return;
      yield poll ? yield* this.#poll(poll, document, first.path) : this.#final(document);
      this.#over = true;
    } catch (error) {
      this.#over = FabricError.is(error) && error.isAgentAnswer;
      throw error;
    } finally {
      if (this.#sent && !this.#over) void this.#cancel();
    }
  }

  /** The document of the answer; events of a stream up to its final, after which the call is over. */
  async *#answer(request: HttpRequest): AsyncGenerator<EventBody, unknown, undefined> {
    const { done, poll } = this.#template;
    const forms: AnswerForms = { done, lines: true, texts: true };
    for await (const item of this.#call.requests.stream(request, forms)) {
      if (item.type === 'head') this.#noteHead(item);
      if (item.type === 'value') {
        const body = this.#fromEvent(item);
        if (body) yield body;
        if (body?.type === 'final') return this.#end();
      }
      if (item.type !== 'final') continue;
      if (item.value !== undefined || this.#isEmpty || poll) return item.value;
      yield this.#atEnd(item.done === true);
      return this.#end();
    }
    throw failure('no_final');
  }

  #noteHead({ head }: Extract<JsonValue, { type: 'head' }>): void {
    this.#sent = true;
    this.#isEmpty = head.headers['content-type'] === undefined;
    const { location } = head.headers;
    this.#sources = { ...this.#sources, start: { headers: { location } } };
  }

  #fromEvent(item: Extract<JsonValue, { type: 'value' }>): EventBody | undefined {
    const { events = [] } = this.#template;
    this.#keep(item.value);
    const body = fromEvent(item, events, this.#client.excerpt);
    if (body?.type === 'token') this.#text += body.data.text;
    if (body?.type !== 'final' || body.data.answer !== '') return body;
    return { type: 'final', data: { ...body.data, answer: this.#text } };
  }

  /** A stream without a rule for its end ends when it is closed, or with `done`. */
  #atEnd(isDone: boolean): EventBody {
    const { events = [], done } = this.#template;
    const hasFinal = events.some(({ emit }) => emit === 'final');
    if (events.length === 0 || (!isDone && (hasFinal || done !== undefined)))
      throw failure('no_final');
    return { type: 'final', data: { answer: this.#text } };
  }

  async *#poll(
    poll: PollTemplate,
    start: unknown,
    from: string,
  ): AsyncGenerator<EventBody, EventBody, undefined> {
    const { headers } = this.#sources.start as { readonly headers: object };
    this.#sources = { ...this.#sources, start: { headers, body: start } };
    const pace = new PollPace(poll.every_ms, this.#call.context.signal);
    const request = this.#pollRequest(poll, from);
    let document = start;
    let said = '{}';
    for (let polls = 0; polls < poll.max_polls; polls += 1) {
      const progress = fillFromAgent(poll.progress, document) ?? {};
      const isNews = JSON.stringify(progress) !== said;
      const body = isNews ? readEvent('progress', progress) : undefined;
      if (body) yield body;
      said = JSON.stringify(progress);
      if (this.#isDone(poll, document, polls)) return this.#final(document);
      await pace.wait(isNews);
      document = await this.#call.requests.json(request).catch(throwWithoutSent);
    }
    throw failure('max_polls', { limit: poll.max_polls });
  }

  #isDone({ state, done, failed }: PollTemplate, document: unknown, polls: number): boolean {
    const current = pointTo(document, state);
    if (done.some((each) => each === current)) return true;
    if (failed.some((each) => each === current)) {
      const { error = '' } = this.#template.answer ?? {};
      throw agentFailure(pointTo(document, error) ?? document, this.#client.excerpt);
    }
    if (current !== undefined || polls === 0) return false;
    throw failure('bad_result/pointer', {
      pointer: state,
      fix: 'correct poll.state of its manifest',
    });
  }

  #pollRequest({ request, url }: PollTemplate, from: string): HttpRequest {
    if (request) return orAgentFault(() => this.#build(request));
    const place = url && orAgentFault(() => valueFor(url, this.#sources));
    const path = sameOriginPath(place, from, this.#client.target);
    return { method: 'GET', path };
  }

  #final(document: unknown): EventBody {
    this.#keep(document);
    return toFinal(document, this.#template.answer, this.#client.excerpt);
  }

  #keep(document: unknown): void {
    const { conversation } = this.#template;
    if (!conversation) return;
    for (const [name, pointer] of Object.entries(conversation)) {
      const value = pointTo(document, pointer);
      if (typeof value === 'string' || typeof value === 'number') this.#kept[name] = value;
    }
    if (Object.keys(this.#kept).length > 0) this.#call.context.keep?.({ ...this.#kept });
  }

  #end(): undefined {
    this.#over = true;
  }

  async #cancel(): Promise<void> {
    const { cancel } = this.#template;
    if (!cancel) return;
    await this.#call.requests.late('the call was not cancelled at the agent', (late) =>
      late.json(this.#build(cancel), { texts: true }),
    );
  }

  #build(template: RequestTemplate): HttpRequest {
    return buildRequest(template, this.#client.target, this.#sources);
  }
}

function throwWithoutSent(error: unknown): never {
  throw withoutSent(error);
}

/** The path of an address that an agent gave us; it must lead to the agent itself. */
function sameOriginPath(address: unknown, from: string, { origin }: Target): string {
  const url = typeof address === 'string' ? URL.parse(address, origin + from) : null;
  if (url && url.origin === origin && url.username === '' && url.password === '') {
    return url.pathname + url.search;
  }
  throw url === null
    ? failure('bad_result/value')
    : failure('other_origin', { origin: url.origin.slice(0, 256) });
}
