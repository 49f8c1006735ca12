// Notifies a client's server that a job is over: a signed POST of the job. Delivered at least once; the
// id is the job's, so that a receiver knows repetitions.

import { backoffMs, type Claim, type JobEngine, type Log } from '@starloom/core';
import type { AddressGuard } from '@starloom/wire';
import { toJobDocument } from '../job-document.ts';
import { type PostFailure, SignedPosts } from './signed-posts.ts';

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

const LONGEST_BACKOFF_MS = 60 * 60 * 1000;

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
    const fields = { job_id: job.id, trace_id: job.trace.trace_id, tries: claim.tries };
    try {
      const failure = await this.#post(claim, engine);
      if (failure === undefined || claim.tries >= tries || failure.isFinal) {
        if (failure !== undefined) log.warn({ ...fields, ...failure }, 'webhook: given up');
        return await engine.settle(claim);
      }
      log.info({ ...fields, ...failure }, 'webhook: not delivered, trying again later');
      const step = { firstMs, longestMs: LONGEST_BACKOFF_MS, tries: claim.tries };
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
