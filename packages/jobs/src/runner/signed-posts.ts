// A POST to a server of a client: signed as Standard Webhooks say (id, timestamp and body under
// HMAC-SHA256), bounded, and only to addresses that the guard lets through.

import { createHmac } from 'node:crypto';
import { FabricError } from '@starloom/core';
import { type AddressGuard, GuardedHttp } from '@starloom/wire';

export interface SignedPostsOptions {
  readonly guard: AddressGuard;
  readonly timeoutMs?: number | undefined;
}

export interface SignedPost {
  readonly url: string;
  /** The same for repetitions of one message, so that a receiver knows them. */
  readonly id: string;
  readonly body: string;
  /** Without one the request is not signed. */
  readonly secret?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PostFailure {
  readonly status?: number;
  readonly cause?: string;
  /** Another try would not help. */
  readonly isFinal: boolean;
}

const GONE = 410;

export class SignedPosts {
  readonly #options: SignedPostsOptions;
  readonly #http: GuardedHttp;

  constructor(options: SignedPostsOptions) {
    this.#options = options;
    this.#http = new GuardedHttp({ guard: options.guard });
  }

  /** BAD_INPUT for an address that may not be dialled, as far as its text tells. */
  assertAllowed(url: string): void {
    try {
      this.#options.guard.check(url);
    } catch (error) {
      const { message, details } = FabricError.from(error);
      throw new FabricError('BAD_INPUT', `The webhook may not be called: ${message}`, {
        details: {
          ...details,
          reason: 'webhook',
          fix: 'use a public address, or let the operator name the host in jobs.webhook_hosts',
        },
      });
    }
  }

  /** Never rejects; `undefined` when it was taken. */
  async send(post: SignedPost): Promise<PostFailure | undefined> {
    const { url, body } = post;
    const headers = { 'content-type': 'application/json', ...post.headers, ...sign(post) };
    const signal = AbortSignal.timeout(this.#options.timeoutMs ?? 10_000);
    try {
      const answer = this.#http.send(url, { method: 'POST', headers, body }, signal);
      const { status } = await answer.head;
      answer.leave();
      return status >= 200 && status < 300 ? undefined : { status, isFinal: status === GONE };
    } catch (error) {
      const isDenied = FabricError.is(error) && error.code === 'POLICY_DENIED';
      return { cause: error instanceof Error ? error.message : String(error), isFinal: isDenied };
    }
  }

  async close(): Promise<void> {
    await this.#http.drain();
  }
}

function sign({ id, body, secret }: SignedPost): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === undefined) return headers;
  const text = `${id}.${timestamp}.${body}`;
  const digest = createHmac('sha256', toKey(secret)).update(text).digest('base64');
  return { ...headers, 'webhook-signature': `v1,${digest}` };
}

/** `whsec_` and base64, or any other text as it is. */
function toKey(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
}
