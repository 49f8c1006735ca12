// Posts the updates of one task to its webhooks. How far it came is kept with the job, under a lease: a
// gateway that ends or dies is followed by another, which posts nothing twice but what was under way.
// The id of a webhook request is the same each time, so that receivers know repetitions.

import { A2A_CONTENT_TYPE, StreamResponse, type TaskPushNotificationConfig } from '@a2a-js/sdk';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import type { Clock, Job, Log } from '@starloom/core';
import { followJob, type SignedPost, type SignedPosts } from '@starloom/jobs';
import type { JobCalls } from '../jobs/job-calls.ts';
import { resultOf } from './read-result.ts';
import { TaskFeed } from './task-feed.ts';
import { idsOf } from './to-status.ts';

export interface PushFollowerOptions {
  readonly jobs: JobCalls;
  readonly log: Log;
  readonly clock: Clock;
  readonly posts: SignedPosts;
  readonly retryMs?: number | undefined;
  /** The gateway. */
  readonly by: string;
  readonly hooksOf: (job: Job) => readonly StoredHook[];
}

/** As it is kept with the job. */
export interface StoredHook {
  readonly config: TaskPushNotificationConfig;
  /** Of the request that made it: bodies have its form. */
  readonly isLegacy: boolean;
}

/** What is kept with the job while it is followed. */
export interface PushDue {
  readonly by: string;
  /** Another gateway may take over after this. */
  readonly until: number;
  /** Updates up to this event were posted. */
  readonly after: number;
}

export const PUSH_LEASE_MS = 30_000;
const DUE = 'due';
const TRIES = 3;
const RETRY_MS = 1_000;

export class PushFollower {
  readonly #job: Job;
  readonly #options: PushFollowerOptions;
  readonly #stop = new AbortController();
  readonly #done = Promise.withResolvers<void>();
  #due: PushDue | undefined;
  /** Notes are written one after the other. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(job: Job, options: PushFollowerOptions) {
    this.#job = job;
    this.#options = options;
  }

  /** Resolves when there is nothing more to post from here. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** False when another gateway follows the task, or the lease cannot be written. */
  async begin(after: number, was: PushDue | undefined): Promise<boolean> {
    this.#due = was;
    const isOurs = await this.#write(this.#lease(after)).catch((err: unknown) => {
      const { log } = this.#options;
      log.warn({ err, job_id: this.#job.id }, 'a2a: webhooks of a task cannot be followed now');
      return false;
    });
    if (isOurs) void this.#follow(after);
    else this.#done.resolve();
    return isOurs;
  }

  async renew(): Promise<void> {
    if (this.#due) await this.#write(this.#lease(this.#due.after)).catch(() => {});
  }

  /** Ends here; another gateway may go on at once. */
  async release(): Promise<void> {
    this.#stop.abort();
    await this.done;
    if (this.#due) await this.#write({ ...this.#due, until: 0 }).catch(() => {});
  }

  #lease(after: number): PushDue {
    return { by: this.#options.by, until: this.#options.clock.now() + PUSH_LEASE_MS, after };
  }

  /** Ends the follower when the lease is lost. */
  #write(value: PushDue | undefined): Promise<boolean> {
    const { engine } = this.#options.jobs;
    const written = this.#writing.then(async () => {
      const isHeld = await engine.note(this.#job.id, { name: DUE, was: this.#due, value });
      if (isHeld) this.#due = value;
      else this.#lose();
      return isHeld;
    });
    this.#writing = written.catch(() => {});
    return written;
  }

  #lose(): void {
    this.#due = undefined;
    this.#stop.abort();
  }

  async #follow(after: number): Promise<void> {
    const { jobs, log } = this.#options;
    const { id } = this.#job;
    const { signal } = this.#stop;
    const isWorking = after > 0 && this.#job.state === 'running';
    const feed = new TaskFeed(idsOf(this.#job), { tokens: false, isWorking });
    const result = async () => resultOf((await jobs.engine.get(id)) ?? this.#job);
    try {
      for await (const { event, cursor } of followJob(jobs.engine, id, { after, signal })) {
        const updates = await feed.next(event, result);
        for (const [index, update] of updates.entries()) {
          await this.#post(update, `${cursor}.${index}`);
        }
        if (updates.length > 0 && !(await this.#write(this.#lease(cursor)))) return;
      }
      await this.#write(undefined);
    } catch (err) {
      if (!signal.aborted) log.warn({ err, job_id: id }, 'a2a: webhooks were given up');
    } finally {
      this.#done.resolve();
    }
  }

  /** To all webhooks that the task has now. */
  async #post(update: StreamResponse, number: string): Promise<void> {
    const { jobs, hooksOf } = this.#options;
    const job = await jobs.engine.get(this.#job.id);
    const hooks = job === undefined ? [] : hooksOf(job);
    await Promise.all(hooks.map((hook) => this.#deliver(hook, update, number)));
  }

  /** Never rejects. */
  async #deliver({ config, isLegacy }: StoredHook, update: StreamResponse, number: string) {
    const { log, posts, retryMs = RETRY_MS } = this.#options;
    const id = `${config.taskId}.${config.id}.${number}`;
    const post = toPost(config, id, await serializePush(update, isLegacy));
    for (let tries = 1; ; tries += 1) {
      const failure = await posts.send(post);
      if (failure === undefined) return;
      const isOver = failure.isFinal || tries === TRIES || this.#stop.signal.aborted;
      const fields = { job_id: config.taskId, webhook_id: id, tries, ...failure };
      if (isOver) return log.warn(fields, 'a2a: a webhook was given up');
      await new Promise((resolve) => setTimeout(resolve, retryMs * 2 ** (tries - 1)));
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

const legacy = new V03PushNotificationSerializer();

/** The update as the protocol has it in a webhook, in the version that asked for it. */
function serializePush(update: StreamResponse, isLegacy: boolean) {
  if (isLegacy) return legacy.serialize(update);
  return { body: JSON.stringify(StreamResponse.toJSON(update)), contentType: A2A_CONTENT_TYPE };
}
