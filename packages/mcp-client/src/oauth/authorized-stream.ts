// Sends one request with the agent's token. A 401 says that the request was not looked at: the token
// is renewed and the request sent again, once. Any other answer goes to the stream as it comes.

import type { IncomingHttpHeaders } from 'node:http';
import { FabricError } from '@starloom/core';
import type { Dispatcher } from 'undici';
import type { HttpStream } from '../http-stream.ts';
import type { AccessTokens } from './access-tokens.ts';

const REFUSAL_BYTES = 65_536;

export interface AuthorizedRequest {
  readonly stream: HttpStream;
  readonly tokens: AccessTokens;
  readonly send: (token: string, handler: Dispatcher.DispatchHandler) => void;
}

/** Never throws: what goes wrong ends the stream. */
export async function sendAuthorized(request: AuthorizedRequest): Promise<void> {
  const { stream, tokens, send } = request;
  try {
    const token = await tokens.get();
    if (!stream.isOver) send(token, new FirstAnswer(request, token));
  } catch (error) {
    fail(stream, error);
  }
}

function fail(stream: HttpStream, error: unknown): void {
  stream.onResponseError(undefined, FabricError.from(error).with({ sent: false }));
}

type Refusal = { readonly status: number; readonly headers: IncomingHttpHeaders; text: string };

class FirstAnswer implements Dispatcher.DispatchHandler {
  readonly #request: AuthorizedRequest;
  readonly #token: string;
  #refusal: Refusal | undefined;
  #isReplaced = false;

  constructor(request: AuthorizedRequest, token: string) {
    this.#request = request;
    this.#token = token;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#request.stream.onRequestStart(controller);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    const { stream, tokens } = this.#request;
    if (status === 401) {
      this.#refusal = { status, headers, text: '' };
      return;
    }
    if (status >= 200 && status < 300) tokens.accepted(this.#token);
    stream.onResponseStart(controller, status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#refusal) {
      this.#request.stream.onResponseData(controller, chunk);
      return;
    }
    this.#refusal.text += chunk.toString('latin1');
    if (this.#refusal.text.length > REFUSAL_BYTES) controller.abort(new Error('long refusal'));
  }

  onResponseEnd(): void {
    if (this.#refusal) void this.#again(this.#refusal);
    else this.#request.stream.onResponseEnd();
  }

  onResponseError(controller: unknown, cause: Error): void {
    if (this.#refusal) void this.#again(this.#refusal);
    else this.#request.stream.onResponseError(controller, cause);
  }

  async #again({ status, headers, text }: Refusal): Promise<void> {
    const { stream, tokens, send } = this.#request;
    if (stream.isOver || this.#isReplaced) return;
    this.#isReplaced = true;
    try {
      const token = await tokens.replace(this.#token);
      if (stream.isOver) return;
      if (token !== undefined) return send(token, new SecondAnswer(stream, tokens, token));
      stream.onResponseStart(undefined, status, headers);
      stream.onResponseData(undefined, Buffer.from(text, 'latin1'));
      stream.onResponseEnd();
    } catch (error) {
      fail(stream, error);
    }
  }
}

/** Of the request that was sent again: goes to the stream whatever it is. */
class SecondAnswer implements Dispatcher.DispatchHandler {
  readonly #stream: HttpStream;
  readonly #tokens: AccessTokens;
  readonly #token: string;

  constructor(stream: HttpStream, tokens: AccessTokens, token: string) {
    this.#stream = stream;
    this.#tokens = tokens;
    this.#token = token;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#stream.onRequestStart(controller);
  }

  onResponseStart(controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status >= 200 && status < 300) this.#tokens.accepted(this.#token);
    this.#stream.onResponseStart(controller, status, headers);
  }

  onResponseData(controller: unknown, chunk: Buffer): void {
    this.#stream.onResponseData(controller, chunk);
  }

  onResponseEnd(): void {
    this.#stream.onResponseEnd();
  }

  onResponseError(controller: unknown, cause: Error): void {
    this.#stream.onResponseError(controller, cause);
  }
}
