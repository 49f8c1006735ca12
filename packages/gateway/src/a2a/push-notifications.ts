// Webhooks of tasks: every update of a task is posted to those who asked for it, in order, signed, and
// only to addresses that the guard lets through. Tokens are left out: the answer comes as a whole. The
// configurations live in this process, with a bound.

import { setTimeout as delay } from 'node:timers/promises';
import type { StreamResponse, TaskPushNotificationConfig } from '@a2a-js/sdk';
import { backoffMs, FabricError, isFinal, type Log, type StoredJob } from '@starloom/core';
import { type SignedPost, SignedPosts } from '@starloom/jobs';
import type { AddressGuard } from '@starloom/wire';
import type { JobCalls } from '../jobs/job-calls.ts';
import { serializePush } from './push-body.ts';
import { resultOf } from './read-task.ts';
import { TaskFeed } from './task-feed.ts';
import { idsOf } from './to-status.ts';

export interface PushNotificationsOptions {
  readonly jobs: JobCalls;
  readonly guard: AddressGuard;
  readonly log: Log;
  readonly retryMs?: number;
}

interface Watched {
  readonly hooks: Map<string, Hook>;
  readonly stop: AbortController;
}

interface Hook {
  readonly config: TaskPushNotificationConfig;
  /** Of the request that made it: bodies have its form. */
  readonly isLegacy: boolean;
  sent: number;
}

const MOST_TASKS = 10_000;
const MOST_HOOKS = 10;
const TRIES = 3;
const RETRY_MS = 1_000;

export class PushNotifications {
  readonly #options: PushNotificationsOptions;
  readonly #posts: SignedPosts;
  readonly #tasks = new Map<string, Watched>();

  constructor(options: PushNotificationsOptions) {
    this.#options = options;
    this.#posts = new SignedPosts({ guard: options.guard });
  }

  /** BAD_INPUT for an address that may not be dialled, as far as its text tells. */
  assertAllowed(url: string): void {
    try {
      this.#options.guard.check(url);
    } catch (error) {
      const { message, details } = FabricError.from(error);
      throw new FabricError('BAD_INPUT', `The webhook may not be called: ${message}`, {
        details: { ...details, reason: 'webhook', fix: 'use an address outside, or webhook_hosts' },
      });
    }
  }

  /** One with the same id is replaced. */
  add(
    job: StoredJob,
    given: TaskPushNotificationConfig,
    isLegacy: boolean,
  ): TaskPushNotificationConfig {
    const config = { ...given, id: given.id || crypto.randomUUID(), taskId: job.id, tenant: '' };
    this.assertAllowed(config.url);
    const watched = this.#tasks.get(job.id) ?? this.#watch(job);
    if (!watched.hooks.has(config.id) && watched.hooks.size >= MOST_HOOKS) {
      throw tooMany(`A task has at most ${MOST_HOOKS} webhooks`);
    }
    watched.hooks.set(config.id, { config, isLegacy, sent: 0 });
    return config;
  }

  get({ id }: StoredJob, configId: string): TaskPushNotificationConfig | undefined {
    return this.#tasks.get(id)?.hooks.get(configId)?.config;
  }

  list({ id }: StoredJob): TaskPushNotificationConfig[] {
    return Array.from(this.#tasks.get(id)?.hooks.values() ?? [], ({ config }) => config);
  }

  remove({ id }: StoredJob, configId: string): void {
    const watched = this.#tasks.get(id);
    watched?.hooks.delete(configId);
    if (watched?.hooks.size === 0) this.#forget(id, watched);
  }

  async close(): Promise<void> {
    for (const [id, watched] of this.#tasks) this.#forget(id, watched);
    await this.#posts.close();
  }

  #watch(job: StoredJob): Watched {
    if (this.#tasks.size >= MOST_TASKS) this.#makeRoom();
    const watched = { hooks: new Map<string, Hook>(), stop: new AbortController() };
    this.#tasks.set(job.id, watched);
    if (!isFinal(job.state)) void this.#follow(job, watched);
    else watched.stop.abort();
    return watched;
  }

  /** Those of tasks that are over go first. */
  #makeRoom(): void {
    for (const [id, watched] of this.#tasks) {
      if (!watched.stop.signal.aborted) continue;
      this.#forget(id, watched);
      return;
    }
    throw tooMany('There are too many tasks with webhooks');
  }

  #forget(id: string, watched: Watched): void {
    watched.stop.abort();
    this.#tasks.delete(id);
  }

  async #follow(job: StoredJob, { hooks, stop }: Watched): Promise<void> {
    const { jobs, log } = this.#options;
    const { principal_id, id, cursor } = job;
    const feed = new TaskFeed(idsOf(job), { tokens: false });
    const result = async () => resultOf(await jobs.desk.status(principal_id, id));
    try {
      const events = jobs.desk.stream(principal_id, id, { after: cursor, signal: stop.signal });
      for await (const { event } of events) {
        for (const update of await feed.next(event, result)) {
          await Promise.all(Array.from(hooks.values(), (hook) => this.#deliver(hook, update)));
        }
      }
    } catch (err) {
      if (!stop.signal.aborted) log.warn({ err, job_id: id }, 'a2a: webhooks were given up');
    } finally {
      stop.abort();
    }
  }

  /** Never rejects. */
  async #deliver(hook: Hook, update: StreamResponse): Promise<void> {
    const { log, retryMs = RETRY_MS } = this.#options;
    const { config, isLegacy } = hook;
    hook.sent += 1;
    const id = `${config.taskId}.${config.id}.${hook.sent}`;
    const post = toPost(config, id, await serializePush(update, isLegacy));
    for (let tries = 1; ; tries += 1) {
      const failure = await this.#posts.send(post);
      if (failure === undefined) return;
      const isOver = failure.isFinal || tries === TRIES;
      const fields = { job_id: config.taskId, webhook_id: id, tries, ...failure };
      if (isOver) return log.warn(fields, 'a2a: a webhook was given up');
      await delay(backoffMs({ firstMs: retryMs, tries }));
    }
  }
}

function toPost(
  { url, token, authentication }: TaskPushNotificationConfig,
  id: string,
  { body, contentType }: { readonly body: string; readonly contentType: string },
): SignedPost {
  const { scheme = '', credentials = '' } = authentication ?? {};
  return {
    url,
    id,
    body,
    secret: token === '' ? undefined : token,
    headers: {
      'content-type': contentType,
      ...(token !== '' && { 'x-a2a-notification-token': token }),
      ...(scheme !== '' && { authorization: `${scheme} ${credentials}`.trim() }),
    },
  };
}

function tooMany(message: string): FabricError {
  return new FabricError('OVERLOADED', message, { details: { reason: 'too_many_webhooks' } });
}
