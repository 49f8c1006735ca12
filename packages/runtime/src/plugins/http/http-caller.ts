// HTTP requests that a model may choose: only to public addresses, judged when they are dialled and
// again for every redirect, within a time and a size. Answers are text or they are refused.

import { STATUS_CODES } from 'node:http';
import { pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { FabricError, orAborted, socketErrorCode } from '@starloom/core';
import {
  type AddressGuard,
  BoundedBody,
  deadlineSignal,
  GuardedHttp,
  type HttpAnswer,
  type HttpHead,
} from '@starloom/wire';
import { failure } from '../../reasons.ts';

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

interface HttpCallerOptions {
  readonly guard: AddressGuard;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly maxRedirects: number;
}

/** The client sets these itself: they frame and address the message. */
const REFUSED_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const OWN_HEADERS = {
  'user-agent': 'starloom',
  accept: '*/*',
  'accept-encoding': 'gzip, deflate, br',
};

export class HttpCaller {
  readonly #options: HttpCallerOptions;
  readonly #http: GuardedHttp;

  constructor(options: HttpCallerOptions) {
    this.#options = options;
    const { guard } = options;
    this.#http = new GuardedHttp({ guard, maxHeaderSize: 65_536, connections: 16 });
  }

  /** Status, headers and body as one text. */
  async call(request: HttpRequest, parent: AbortSignal): Promise<string> {
    assertHeaders(request.headers);
    using deadline = deadlineSignal({ ms: this.#options.timeoutMs, parent });
    const { signal } = deadline;
    try {
      const { answer, head, url } = await this.#follow(request, signal);
      const body = await orAborted(readText(answer, head, this.#options.maxBytes), signal);
      return `${describeHead(head, url)}\n\n${body}`;
    } catch (error) {
      throw callFailure(signal.aborted ? signal.reason : error);
    }
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #follow(first: HttpRequest, signal: AbortSignal) {
    let request = first;
    for (let redirects = 0; ; redirects += 1) {
      const answer = this.#send(request, signal);
      const head = await answer.head;
      const next = nextRequest(request, head);
      if (!next) return { answer, head, url: request.url };
      answer.leave();
      if (redirects >= this.#options.maxRedirects) {
        throw failure('too_many_redirects', { redirects });
      }
      request = next;
    }
  }

  #send({ method, url, body, ...request }: HttpRequest, signal: AbortSignal): HttpAnswer {
    const headers = { ...OWN_HEADERS, ...toLowerCaseNames(request.headers) };
    return this.#http.send(url, { method, headers, body }, signal);
  }
}

const SHOWN_HEADERS = ['content-type', 'last-modified', 'location', 'retry-after'];

function describeHead({ status, headers }: HttpHead, url: string): string {
  const shown = SHOWN_HEADERS.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [`${name}: ${value}`];
  });
  return [`${url}`, `HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trim(), ...shown].join('\n');
}

function toLowerCaseNames(headers: HttpRequest['headers']): Record<string, string> {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return Object.fromEntries(named);
}

function assertHeaders(headers: HttpRequest['headers']): void {
  for (const [name, value] of Object.entries(headers)) {
    const isRefused = REFUSED_HEADERS.has(name.toLowerCase());
    if (!isRefused && !/[\r\n\0]/.test(value)) continue;
    throw failure('bad_header', { header: name });
  }
}

function callFailure(thrown: unknown): FabricError {
  const error = FabricError.from(thrown);
  const code = socketErrorCode(error.cause);
  return code === undefined ? error : failure('unreachable', { code }, { cause: thrown });
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * What a redirect asks for, or `undefined` when the response is none. Another host is not followed: a
 * call of it is judged like any other. Headers stay with the origin they were given for, and a body is
 * sent to no address that the caller did not name.
 */
function nextRequest(
  request: HttpRequest,
  { status, headers: shown }: HttpHead,
): HttpRequest | undefined {
  const location = REDIRECTS.has(status) ? shown.location : undefined;
  if (location === undefined) return undefined;
  const from = new URL(request.url);
  const to = URL.parse(location, request.url);
  if (to === null) throw failure('bad_redirect');
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw failure('insecure_redirect');
  }
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (!isRead && status !== 303) throw failure('redirected_body');
  if (siteOf(from) !== siteOf(to)) throw failure('redirected_host', { address: to.href });
  const headers = from.origin === to.origin ? request.headers : {};
  return { method: isRead ? request.method : 'GET', url: to.href, headers };
}

function siteOf({ hostname }: URL): string {
  return hostname.replace(/^www\./, '');
}

const TEXT = /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml|javascript|yaml|x-ndjson)\b)/i;

/** The body as text, decompressed; UPSTREAM_ERROR when it is none or larger than `maxBytes`. */
export async function readText(
  answer: HttpAnswer,
  { headers }: HttpHead,
  maxBytes: number,
): Promise<string> {
  const type = headers['content-type'] ?? 'text/plain';
  if (!TEXT.test(type)) {
    answer.leave();
    throw failure('not_text', { content_type: type });
  }
  const text = new BoundedBody(maxBytes);
  for await (const chunk of decodeBody(answer, headers['content-encoding'])) {
    if (text.push(chunk)) continue;
    const error = failure('answer_too_large/http', { limit: maxBytes });
    answer.abort(error);
    throw error;
  }
  return decoderFor(type).decode(text.toBuffer());
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

function decodeBody(answer: HttpAnswer, encoding = 'identity'): AsyncIterable<Buffer> {
  const create = DECODERS[encoding.toLowerCase()];
  if (!create) return answer.body();
  // A failure before the decoder reaches its reader.
  return pipeline(Readable.from(answer.body()), create(), () => {});
}

function decoderFor(type: string): InstanceType<typeof TextDecoder> {
  const [, charset = 'utf-8'] = /charset="?([\w-]+)/i.exec(type) ?? [];
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}
