// Sends one request with the agent's token. A 401 says that the request was not looked at: it is sent
// again, at most once with the nonce that the agent wants, and at most once with a new token. Any other
// answer goes to the stream as it comes.

import type { IncomingHttpHeaders } from 'node:http';
import { FabricError } from '@starloom/core';
import type { Dispatcher } from 'undici';
import type { Headers } from '../http-headers.ts';
import type { HttpStream } from '../http-stream.ts';
import type { AccessToken, AccessTokens } from './access-tokens.ts';
import type { DpopSession } from './dpop.ts';

const REFUSAL_BYTES = 65_536;

interface AuthorizedRequest {
  readonly stream: HttpStream;
  readonly tokens: AccessTokens;
  readonly method: string;
  readonly uri: string;
  readonly send: SendWith;
}

export type SendWith = (credentials: Headers, handler: Dispatcher.DispatchHandler) => void;

/** What may still be tried after a 401. */
interface Remedies {
  readonly nonce: boolean;
  readonly renewal: boolean;
}

/** Never throws: what goes wrong ends the stream. */
export async function sendAuthorized(request: AuthorizedRequest): Promise<void> {
  try {
    const token = await request.tokens.get();
    await sendWith(token, request, { nonce: true, renewal: true });
  } catch (error) {
    fail(request.stream, error);
  }
}

async function sendWith(
  token: AccessToken,
  request: AuthorizedRequest,
  remedies: Remedies,
): Promise<void> {
  const { stream, send } = request;
  const credentials = token.dpop
    ? await proofHeaders(token.dpop, token.value, request)
    : { authorization: `Bearer ${token.value}` };
  if (!stream.isOver) send(credentials, new AuthorizedAnswer(request, token, remedies));
}

async function proofHeaders(
  dpop: NonNullable<AccessToken['dpop']>,
  token: string,
  { method, uri }: AuthorizedRequest,
): Promise<Headers> {
  const proof = await dpop.buildProof({ htm: method, htu: uri, accessToken: token });
  return { authorization: `DPoP ${token}`, dpop: proof };
}

function fail(stream: HttpStream, error: unknown): void {
  stream.onResponseError(undefined, FabricError.from(error).with({ sent: false }));
}

interface Refusal {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly remedy: keyof Remedies;
  text: string;
}

class AuthorizedAnswer implements Dispatcher.DispatchHandler {
  readonly #request: AuthorizedRequest;
  readonly #token: AccessToken;
  readonly #remedies: Remedies;
  #refusal: Refusal | undefined;
  #isOver = false;

  constructor(request: AuthorizedRequest, token: AccessToken, remedies: Remedies) {
    this.#request = request;
    this.#token = token;
    this.#remedies = remedies;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#request.stream.onRequestStart(controller);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    const { stream, tokens, uri } = this.#request;
    const { dpop, value } = this.#token;
    if (dpop) noteNonce(dpop, uri, headers);
    const remedy = status === 401 ? this.#remedyFor(headers) : undefined;
    if (remedy) {
      this.#refusal = { status, headers, remedy, text: '' };
      return;
    }
    if (status >= 200 && status < 300) tokens.noteAccepted(value);
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

  #remedyFor(headers: IncomingHttpHeaders): keyof Remedies | undefined {
    const { nonce, renewal } = this.#remedies;
    if (this.#token.dpop && nonce && isNonceChallenge(headers)) return 'nonce';
    return renewal ? 'renewal' : undefined;
  }

  async #again({ remedy, status, headers, text }: Refusal): Promise<void> {
    const { stream, tokens } = this.#request;
    if (stream.isOver || this.#isOver) return;
    this.#isOver = true;
    try {
      const token = remedy === 'nonce' ? this.#token : await tokens.replace(this.#token.value);
      if (stream.isOver) return;
      if (token)
        return await sendWith(token, this.#request, { ...this.#remedies, [remedy]: false });
      stream.onResponseStart(undefined, status, headers);
      stream.onResponseData(undefined, Buffer.from(text, 'latin1'));
      stream.onResponseEnd();
    } catch (error) {
      fail(stream, error);
    }
  }
}

/** A nonce as RFC 9449 writes one. */
const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,1000}$/;

/** Any answer may bring the nonce for the next request. */
function noteNonce(dpop: DpopSession, uri: string, headers: IncomingHttpHeaders): void {
  const nonce = headers['dpop-nonce'];
  if (typeof nonce === 'string' && NONCE.test(nonce)) dpop.rememberNonce(uri, nonce);
}

/** The agent wants its nonce in the proof, and has sent one. */
function isNonceChallenge(headers: IncomingHttpHeaders): boolean {
  const { 'www-authenticate': challenge = '', 'dpop-nonce': nonce } = headers;
  const isAsked = /\berror="?use_dpop_nonce\b/.test(challenge);
  return isAsked && typeof nonce === 'string' && NONCE.test(nonce);
}
