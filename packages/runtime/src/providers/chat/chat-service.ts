// The connection to a chat service. Nothing is retried and no redirect is followed here: a key goes
// to the host of the configuration and nowhere else.

import { FabricError } from '@starloom/core';
import { Agent, errors } from 'undici';
import type { ModelErrors } from '../model-error.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** How long a service may be silent: loading a large model, or reading a long prompt. */
const SILENCE_MS = 300_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 16_384;

export interface ChatReply {
  readonly contentType: string;
  /** Fails with the errors of a model. Leaving it early closes the connection. */
  readonly body: AsyncIterable<Uint8Array>;
}

export class ChatService {
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #errors: ModelErrors;
  readonly #agent = new Agent({
    headersTimeout: SILENCE_MS,
    bodyTimeout: SILENCE_MS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });

  constructor(baseUrl: string, key: string | undefined, modelErrors: ModelErrors) {
    this.#url = new URL(baseUrl);
    this.#url.pathname = `${this.#url.pathname.replace(/\/+$/, '')}/chat/completions`;
    this.#headers = {
      'content-type': 'application/json',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    };
    this.#errors = modelErrors;
  }

  async ask(request: object, signal: AbortSignal | undefined): Promise<ChatReply> {
    if (signal?.aborted) throw FabricError.from(signal.reason);
    const response = await this.#send(JSON.stringify(request), signal);
    const { statusCode: status, headers, body } = response;
    const read = this.#read(body, signal);
    if (status >= 200 && status < 300) {
      return { contentType: first(headers['content-type']) ?? '', body: read };
    }
    throw this.#errors.ofStatus({
      status,
      retryAfter: first(headers['retry-after']),
      retryAfterMs: first(headers['retry-after-ms']),
      body: await readHead(read).catch(() => ''),
    });
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #send(body: string, signal: AbortSignal | undefined) {
    const { origin, pathname, search } = this.#url;
    const request = {
      method: 'POST' as const,
      headers: this.#headers,
      body,
      signal: signal ?? null,
    };
    try {
      return await this.#agent.request({ ...request, origin, path: pathname + search });
    } catch (error) {
      throw this.#failure(error, signal, false);
    }
  }

  async *#read(
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array> {
    let length = 0;
    try {
      for await (const chunk of body) {
        length += chunk.length;
        if (length > MAX_ANSWER_BYTES) throw this.#errors.tooLarge(MAX_ANSWER_BYTES);
        yield chunk;
      }
    } catch (error) {
      throw this.#failure(error, signal, true);
    }
  }

  #failure(error: unknown, signal: AbortSignal | undefined, answered: boolean): FabricError {
    if (signal?.aborted) return FabricError.from(signal.reason);
    const isSilent =
      error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError;
    if (isSilent) return this.#errors.timeout(error);
    if (error instanceof errors.HTTPParserError) return this.#errors.unreadable('', error);
    return this.#errors.ofConnection(error, answered);
  }
}

async function readHead(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
