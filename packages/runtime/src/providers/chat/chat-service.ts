// The connection to a chat service. Nothing is retried and no redirect is followed here: a key goes
// to the host of the configuration and nowhere else.

import { FabricError, socketErrorCode } from '@starloom/core';
import { createAddressGuard, GuardedHttp, type HttpAnswer } from '@starloom/wire';
import type { ModelErrors } from '../model-error.ts';

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
  readonly #http: GuardedHttp;

  constructor(baseUrl: string, key: string | undefined, modelErrors: ModelErrors) {
    this.#url = new URL(baseUrl);
    this.#url.pathname = `${this.#url.pathname.replace(/\/+$/, '')}/chat/completions`;
    this.#headers = {
      'content-type': 'application/json',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    };
    this.#errors = modelErrors;
    this.#http = new GuardedHttp({
      guard: createAddressGuard({ allow: [this.#url.hostname] }),
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
    });
  }

  async ask(request: object, signal: AbortSignal | undefined): Promise<ChatReply> {
    if (signal?.aborted) throw FabricError.from(signal.reason);
    const sent = { method: 'POST', headers: this.#headers, body: JSON.stringify(request) };
    const answer = this.#http.send(this.#url, sent, signal);
    const { status, headers } = await answer.head.catch((error: FabricError) => {
      throw this.#failure(error, signal, false);
    });
    if (status >= 200 && status < 300) {
      return { contentType: headers['content-type'] ?? '', body: this.#read(answer, signal) };
    }
    const { bytes } = await answer.read(MAX_ERROR_BYTES).catch(() => ({ bytes: '' }));
    throw this.#errors.ofStatus({
      status,
      retryAfter: headers['retry-after'],
      retryAfterMs: headers['retry-after-ms']?.toString(),
      body: bytes.toString(),
    });
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async *#read(
    answer: HttpAnswer,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    let length = 0;
    try {
      for await (const chunk of answer.body()) {
        length += chunk.length;
        if (length > MAX_ANSWER_BYTES) throw this.#errors.tooLarge(MAX_ANSWER_BYTES);
        yield chunk;
      }
    } catch (error) {
      throw this.#failure(FabricError.from(error), signal, true);
    } finally {
      answer.abort(LEFT);
    }
  }

  #failure(error: FabricError, signal: AbortSignal | undefined, answered: boolean): FabricError {
    if (signal?.aborted) return FabricError.from(signal.reason);
    const code = socketErrorCode(error.cause);
    if (code !== undefined && SILENT.has(code)) return this.#errors.timeout(error.cause);
    if (error.details.reason === 'invalid_http') return this.#errors.unreadable('', error.cause);
    return this.#errors.ofConnection(error.cause ?? error, answered);
  }
}

const SILENT: ReadonlySet<string> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);
const LEFT = new FabricError('CANCELLED', 'The answer is not read any more');
