// HTTP requests that a model may choose: only to public addresses, judged when they are dialled and
// again for every redirect, within a time and a size. Answers are text or they are refused.

import { FabricError, orAborted, socketErrorCode } from '@starloom/core';
import { type AddressGuard, deadlineSignal } from '@starloom/wire';
import { type Agent, fetch, type Response } from 'undici';

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface HttpCallerOptions {
  readonly guard: AddressGuard;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly maxRedirects: number;
}

/** Ours to set: they say where a message ends and for whom it is. */
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

export class HttpCaller {
  readonly #options: HttpCallerOptions;
  readonly #dispatcher: Agent;

  constructor(options: HttpCallerOptions) {
    this.#options = options;
    this.#dispatcher = options.guard.dispatcher({ maxHeaderSize: 65_536, connections: 16 });
  }

  /** Status, headers and body as one text. */
  async call(request: HttpRequest, parent: AbortSignal): Promise<string> {
    assertHeaders(request.headers);
    using deadline = deadlineSignal({ ms: this.#options.timeoutMs, parent });
    const { signal } = deadline;
    try {
      const { response, url } = await this.#follow(request, signal);
      const body = await orAborted(readText(response, this.#options.maxBytes), signal);
      return `${toHead(response, url)}\n\n${body}`;
    } catch (error) {
      throw callFailure(signal.aborted ? signal.reason : error);
    }
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #follow(first: HttpRequest, signal: AbortSignal) {
    let request = first;
    for (let redirects = 0; ; redirects += 1) {
      const response = await this.#send(request, signal);
      const next = nextRequest(request, response);
      if (!next) return { response, url: request.url };
      await response.body?.cancel();
      if (redirects >= this.#options.maxRedirects) throw tooManyRedirects(redirects);
      request = next;
    }
  }

  #send({ method, url, headers, body }: HttpRequest, signal: AbortSignal): Promise<Response> {
    this.#options.guard.check(url);
    return fetch(url, {
      method,
      headers: { 'user-agent': 'starloom', accept: '*/*', ...headers },
      redirect: 'manual',
      dispatcher: this.#dispatcher,
      signal,
      ...(body === undefined ? {} : { body }),
    });
  }
}

const SHOWN_HEADERS = ['content-type', 'last-modified', 'location', 'retry-after'];

function toHead({ status, statusText, headers }: Response, url: string): string {
  const shown = SHOWN_HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [`${name}: ${value}`];
  });
  return [`${url}`, `HTTP ${status} ${statusText}`.trim(), ...shown].join('\n');
}

function assertHeaders(headers: HttpRequest['headers']): void {
  for (const [name, value] of Object.entries(headers)) {
    const isRefused = REFUSED_HEADERS.has(name.toLowerCase());
    if (!isRefused && !/[\r\n\0]/.test(value)) continue;
    throw new FabricError('BAD_INPUT', 'This header may not be set', {
      details: { reason: 'bad_header', header: name, fix: 'leave the header out' },
    });
  }
}

/** What `fetch` throws hides the reason in its cause. */
function callFailure(error: unknown): FabricError {
  for (let link = error; link instanceof Error; link = link.cause) {
    if (FabricError.is(link)) return link;
  }
  if (!(error instanceof TypeError)) return FabricError.from(error);
  const code = socketErrorCode(error);
  return new FabricError('UPSTREAM_ERROR', 'The server could not be reached', {
    details: { reason: 'unreachable', code, fix: 'check the address, or try again later' },
    cause: error,
  });
}

function tooManyRedirects(count: number): FabricError {
  return new FabricError('UPSTREAM_ERROR', `The server redirects more than ${count} times`, {
    details: { reason: 'too_many_redirects', fix: 'call the address it leads to' },
  });
}

const TEXT = /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml|javascript|yaml|x-ndjson)\b)/i;

/** The body as text, decompressed; UPSTREAM_ERROR when it is none or larger than `maxBytes`. */
async function readText(response: Response, maxBytes: number): Promise<string> {
  const type = response.headers.get('content-type') ?? 'text/plain';
  if (response.body === null) return '';
  if (!TEXT.test(type)) {
    await response.body.cancel();
    throw new FabricError('UPSTREAM_ERROR', 'The answer is not text', {
      details: { reason: 'not_text', content_type: type, fix: 'ask for a text document' },
    });
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return decoderFor(type).decode(Buffer.concat(chunks));
}

function decoderFor(type: string): InstanceType<typeof TextDecoder> {
  const [, charset = 'utf-8'] = /charset="?([\w-]+)/i.exec(type) ?? [];
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

function tooLarge(limit: number): FabricError {
  return new FabricError('UPSTREAM_ERROR', `The answer is larger than ${limit} bytes`, {
    details: {
      reason: 'answer_too_large',
      limit,
      fix: 'ask for less, or raise max_bytes of the http plugin',
    },
  });
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * What a redirect asks for, or `undefined` when the response is none. Another host is not followed: a
 * call of it is judged like any other. Headers stay with the origin they were given for, and a body is
 * sent to no address that the caller did not name.
 */
function nextRequest(request: HttpRequest, response: Response): HttpRequest | undefined {
  const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
  if (location === null) return undefined;
  const from = new URL(request.url);
  const to = URL.parse(location, request.url);
  if (to === null) throw refusedRedirect('bad_redirect', 'the server sent an address that is none');
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw refusedRedirect('insecure_redirect', 'call the address with https, if there is one');
  }
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (!isRead && response.status !== 303) {
    throw refusedRedirect('redirected_body', 'send the request to the address it leads to');
  }
  if (siteOf(from) !== siteOf(to)) {
    throw refusedRedirect('redirected_host', `call ${to.href} itself, if that is what is wanted`);
  }
  const headers = from.origin === to.origin ? request.headers : {};
  return { method: isRead ? request.method : 'GET', url: to.href, headers };
}

function siteOf({ hostname }: URL): string {
  return hostname.replace(/^www\./, '');
}

function refusedRedirect(reason: string, fix: string): FabricError {
  return new FabricError('POLICY_DENIED', 'The redirect was not followed', {
    details: { reason, fix },
  });
}
