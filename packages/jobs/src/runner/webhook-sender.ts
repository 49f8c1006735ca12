// Notifies a client's server that a job is over: a signed POST of the job. Delivered at least once; the
// id is the job's, so that a receiver knows repetitions.

import { createHmac } from 'node:crypto';
import { backoffMs, type Claim, FabricError, type JobEngine, type Log } from '@starloom/core';
import { type AddressGuard, GuardedHttp } from '@starloom/wire';
import { toJobDocument } from '../job-document.ts';
import { failure } from '../reasons.ts';

export interface WebhookSenderOptions {
  readonly guard: AddressGuard;
  readonly log: Log;
  /** Signs webhooks that have no secret of their own; without any they are not signed. */
  readonly secret?: string;
  readonly timeoutMs?: number;
  readonly tries?: number;
  /** Before the second try; doubles with each further one. */
  readonly backoffMs?: number;
}

const MAX_BACKOFF_MS = 60 * 60 * 1000;

export class WebhookSender {
  readonly #options: WebhookSenderOptions;
  readonly #posts: SignedPosts;

  constructor(options: WebhookSenderOptions) {
    const { guard, timeoutMs } = options;
    this.#options = options;
    this.#posts = new SignedPosts({ guard, timeoutMs });
  }

  /** BAD_INPUT for an address that no delivery would reach. */
  assertAllowed(url: string): void {
    this.#posts.assertAllowed(url);
  }

  /** Never rejects. */
  async deliver(claim: Claim, engine: JobEngine): Promise<void> {
    const { log, tries = 8, backoffMs: firstMs = 5_000 } = this.#options;
    const { job } = claim;
    const { trace_id, span_id } = job.trace;
    const fields = { job_id: job.id, trace_id, span_id, tries: claim.tries };
    try {
      const failure = await this.#post(claim, engine);
      if (failure === undefined || claim.tries >= tries || failure.isFinal) {
        if (failure !== undefined) log.warn({ ...fields, ...failure }, 'webhook: given up');
        return await engine.settle(claim);
      }
      log.info({ ...fields, ...failure }, 'webhook: not delivered, trying again later');
      const step = { firstMs, longestMs: MAX_BACKOFF_MS, tries: claim.tries };
      await engine.postpone(claim, backoffMs(step));
    } catch (err) {
      log.warn({ ...fields, err }, 'webhook: the job engine failed; its lease will expire');
    }
  }

  async close(): Promise<void> {
    await this.#posts.close();
  }

  async #post(claim: Claim, engine: JobEngine): Promise<PostFailure | undefined> {
    const { webhook, id } = claim.job;
    const job = await engine.get(id);
    if (webhook === undefined || job === undefined) return undefined;
    const body = JSON.stringify({ type: `job.${job.state}`, job: toJobDocument(job) });
    const { url, secret = this.#options.secret } = webhook;
    return await this.#posts.send({ url, id, body, secret });
  }
}

// A POST to a server of a client: signed as Standard Webhooks say (id, timestamp and body under
// HMAC-SHA256), bounded, and only to addresses that the guard lets through.

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
      const { message: why, details } = FabricError.from(error);
      const { reason: _, fix: __, ...facts } = details;
      throw failure('webhook', { ...facts, why });
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
