// Notifies a client's server that a job is over: a POST of the job, signed as Standard Webhooks say
// (id, timestamp and body under HMAC-SHA256), to addresses that the guard lets through. Delivered at
// least once; the id is the job's, so that a receiver knows repetitions.

import { createHmac } from 'node:crypto';
import { type Claim, FabricError, type JobEngine, type JobWebhook, type Log } from '@starloom/core';
import type { AddressGuard } from '@starloom/wire';
import type { Agent } from 'undici';
import { toJobDocument } from '../job-document.ts';

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
  readonly #agent: Agent;

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
    this.#agent = options.guard.dispatcher({ allowH2: false });
  }

  /** Never rejects. */
  async deliver(claim: Claim, engine: JobEngine): Promise<void> {
    const { log, tries = 8, backoffMs = 5_000 } = this.#options;
    const { job } = claim;
    const fields = { job_id: job.id, trace_id: job.trace.trace_id, tries: claim.tries };
    try {
      const failure = await this.#post(claim, engine);
      if (failure === undefined || claim.tries >= tries || failure.isFinal) {
        if (failure !== undefined) log.warn({ ...fields, ...failure }, 'webhook: given up');
        return await engine.settle(claim);
      }
      log.info({ ...fields, ...failure }, 'webhook: not delivered, trying again later');
      const delayMs = Math.min(LONGEST_BACKOFF_MS, backoffMs * 2 ** (claim.tries - 1));
      await engine.postpone(claim, delayMs);
    } catch (err) {
      log.warn({ ...fields, err }, 'webhook: the job engine failed; its lease will expire');
    }
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }

  async #post(claim: Claim, engine: JobEngine): Promise<WebhookFailure | undefined> {
    const { guard, timeoutMs = 10_000 } = this.#options;
    const { webhook, id } = claim.job;
    const job = await engine.get(id);
    if (webhook === undefined || job === undefined) return undefined;
    const body = JSON.stringify({ type: `job.${job.state}`, job: toJobDocument(job) });
    try {
      guard.check(webhook.url);
      const { request } = await import('undici');
      const { statusCode, body: answer } = await request(webhook.url, {
        method: 'POST',
        dispatcher: this.#agent,
        headers: { 'content-type': 'application/json', ...this.#sign(webhook, id, body) },
        body,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        signal: AbortSignal.timeout(timeoutMs),
      });
      await answer.dump({ limit: 64 * 1024 });
      if (statusCode >= 200 && statusCode < 300) return undefined;
      return { status: statusCode, isFinal: statusCode === 410 };
    } catch (error) {
      const isDenied = FabricError.is(error) && error.code === 'POLICY_DENIED';
      return { cause: error instanceof Error ? error.message : String(error), isFinal: isDenied };
    }
  }

  #sign(webhook: JobWebhook, id: string, body: string): Record<string, string> {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
    const secret = webhook.secret ?? this.#options.secret;
    if (secret === undefined) return headers;
    const text = `${id}.${timestamp}.${body}`;
    const digest = createHmac('sha256', toKey(secret)).update(text).digest('base64');
    return { ...headers, 'webhook-signature': `v1,${digest}` };
  }
}

interface WebhookFailure {
  readonly status?: number;
  readonly cause?: string;
  readonly isFinal: boolean;
}

/** `whsec_` and base64, or any other text as it is. */
function toKey(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
}
