// A POST to a server of a client: signed as Standard Webhooks say (id, timestamp and body under
// HMAC-SHA256), bounded, and only to addresses that the guard lets through.

import { createHmac } from 'node:crypto';
import { FabricError } from '@starloom/core';
import type { AddressGuard } from '@starloom/wire';
import type { Agent } from 'undici';

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
  readonly #agent: Agent;

  constructor(options: SignedPostsOptions) {
    this.#options = options;
    this.#agent = options.guard.dispatcher({ allowH2: false });
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
    const { guard, timeoutMs = 10_000 } = this.#options;
    const { url, body, headers } = post;
    try {
      guard.check(url);
      const { request } = await import('undici');
      const { statusCode, body: answer } = await request(url, {
        method: 'POST',
        dispatcher: this.#agent,
        headers: { 'content-type': 'application/json', ...headers, ...sign(post) },
        body,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        signal: AbortSignal.timeout(timeoutMs),
      });
      await answer.dump({ limit: 64 * 1024 });
      if (statusCode >= 200 && statusCode < 300) return undefined;
      return { status: statusCode, isFinal: statusCode === GONE };
    } catch (error) {
      const isDenied = FabricError.is(error) && error.code === 'POLICY_DENIED';
      return { cause: error instanceof Error ? error.message : String(error), isFinal: isDenied };
    }
  }

  async close(): Promise<void> {
    await this.#agent.close();
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
