// Webhooks of tasks: every update of a task is posted to those who asked for it, in order, signed, and
// only to addresses that the guard lets through. Tokens are left out: the answer comes as a whole. The
// configurations are kept with the job; one gateway at a time follows it (`push-follower.ts`).

import type { TaskPushNotificationConfig } from '@a2a-js/sdk';
import {
  type Clock,
  FabricError,
  isFinal,
  type Job,
  type Log,
  type StoredJob,
} from '@starloom/core';
import { SignedPosts } from '@starloom/jobs';
import type { AddressGuard } from '@starloom/wire';
import type { JobCalls } from '../jobs/job-calls.ts';
import { changeNote } from './job-notes.ts';
import { PUSH_LEASE_MS, type PushDue, PushFollower, type StoredHook } from './push-follower.ts';

export interface PushNotificationsOptions {
  readonly jobs: JobCalls;
  readonly guard: AddressGuard;
  readonly log: Log;
  readonly clock: Clock;
  readonly retryMs?: number;
}

const HOOKS = 'a2a_webhooks';
const MOST_TASKS = 10_000;
const MOST_HOOKS = 10;
/** Of a configuration as JSON. */
const MOST_LENGTH = 8 * 1024;

export class PushNotifications {
  readonly #options: PushNotificationsOptions;
  readonly #posts: SignedPosts;
  /** Which of the gateways that share the jobs this is. */
  readonly #id = crypto.randomUUID();
  readonly #followed = new Map<string, PushFollower>();
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: PushNotificationsOptions) {
    this.#options = options;
    this.#posts = new SignedPosts({ guard: options.guard });
    this.#timer = setInterval(() => this.#renew(), PUSH_LEASE_MS / 3).unref();
  }

  /** BAD_INPUT for an address that may not be dialled, as far as its text tells. */
  assertAllowed(url: string): void {
    this.#posts.assertAllowed(url);
  }

  /** One with the same id is replaced. Kept with the job when this resolves. */
  async add(
    job: StoredJob,
    given: TaskPushNotificationConfig,
    isLegacy: boolean,
  ): Promise<TaskPushNotificationConfig> {
    const config = { ...given, id: given.id || crypto.randomUUID(), taskId: job.id, tenant: '' };
    this.assertAllowed(config.url);
    if (JSON.stringify(config).length > MOST_LENGTH) throw tooLong();
    if (this.#followed.size >= MOST_TASKS && !this.#followed.has(job.id)) {
      throw tooMany('There are too many tasks with webhooks');
    }
    await this.#change(job, (hooks) => {
      const others = hooks.filter((hook) => hook.config.id !== config.id);
      if (others.length < MOST_HOOKS) return [...others, { config, isLegacy }];
      throw tooMany(`A task has at most ${MOST_HOOKS} webhooks`);
    });
    if (!isFinal(job.state)) await this.#follow(job, { after: job.cursor });
    return config;
  }

  get(job: Job, configId: string): TaskPushNotificationConfig | undefined {
    return this.list(job).find(({ id }) => id === configId);
  }

  list(job: Job): TaskPushNotificationConfig[] {
    return hooksOf(job).map(({ config }) => config);
  }

  async remove(job: Job, configId: string): Promise<void> {
    await this.#change(job, (hooks) => hooks.filter(({ config }) => config.id !== configId));
  }

  /** Takes over tasks that no gateway follows any more. */
  async takeOver(jobs: readonly Job[]): Promise<void> {
    const now = this.#options.clock.now();
    for (const job of jobs) {
      const due = job.notes?.due as PushDue;
      if (due.until <= now && this.#followed.size < MOST_TASKS) await this.#follow(job, due, due);
    }
  }

  /** Lets another gateway, or the next start, go on at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await Promise.all(Array.from(this.#followed.values(), (follower) => follower.release()));
    await this.#posts.close();
  }

  /** Nothing when another gateway follows the task already. */
  async #follow(job: Job, from: Pick<PushDue, 'after'>, was?: PushDue): Promise<void> {
    if (this.#isClosed || this.#followed.has(job.id)) return;
    const { jobs, log, clock, retryMs } = this.#options;
    const posts = this.#posts;
    const options = { jobs, log, clock, retryMs, posts, by: this.#id, hooksOf };
    const follower = new PushFollower(job, options);
    this.#followed.set(job.id, follower);
    const done = () => void this.#followed.delete(job.id);
    void follower.done.then(done);
    await follower.begin(from.after, was);
  }

  #renew(): void {
    for (const follower of this.#followed.values()) void follower.renew();
  }

  async #change(job: Job, change: (hooks: readonly StoredHook[]) => readonly StoredHook[]) {
    await changeNote<readonly StoredHook[]>(this.#options.jobs.engine, job.id, HOOKS, (before) => {
      const hooks = change(before ?? []);
      return hooks.length === 0 ? undefined : hooks;
    });
  }
}

function hooksOf({ notes }: Job): readonly StoredHook[] {
  return (notes?.[HOOKS] as readonly StoredHook[] | undefined) ?? [];
}

function tooLong(): FabricError {
  return new FabricError('BAD_INPUT', 'The configuration of the webhook is too long', {
    details: { reason: 'webhook', limit: MOST_LENGTH, fix: 'use a shorter url, token and id' },
  });
}

function tooMany(message: string): FabricError {
  return new FabricError('OVERLOADED', message, { details: { reason: 'too_many_webhooks' } });
}
