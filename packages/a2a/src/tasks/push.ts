// Webhooks of tasks: every update of a task is posted to those who asked for it, in order, signed, and
// only to addresses that the guard lets through. Tokens are left out: the answer comes as a whole. The
// configurations are kept with the job; one gateway at a time follows it.

import { A2A_CONTENT_TYPE, StreamResponse, type TaskPushNotificationConfig } from '@a2a-js/sdk';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import { type Clock, isFinal, type Job, type Log, type StoredJob } from '@starloom/core';
import { followJob, type SignedPost, SignedPosts } from '@starloom/jobs';
import type { AddressGuard } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { TaskFeed } from './task-feed.ts';
import type { TaskJobs } from './task-jobs.ts';
import { changeNotes, idsOf, resultOf } from './to-status.ts';

interface PushNotificationsOptions {
  readonly jobs: Pick<TaskJobs, 'engine'>;
  readonly guard: AddressGuard;
  readonly log: Log;
  readonly clock: Clock;
  readonly retryMs?: number;
}

const HOOKS = 'a2a_webhooks';
const MAX_TASKS = 10_000;
const MAX_HOOKS = 10;
/** Of a configuration as JSON. */
const MAX_LENGTH = 8 * 1024;

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
    if (JSON.stringify(config).length > MAX_LENGTH) throw failure('webhook', { limit: MAX_LENGTH });
    if (this.#followed.size >= MAX_TASKS && !this.#followed.has(job.id)) {
      throw failure('too_many_webhooks');
    }
    await changeNotes<StoredHook>(this.#options.jobs.engine, job.id, HOOKS, (hooks) => {
      const others = hooks.filter((hook) => hook.config.id !== config.id);
      if (others.length < MAX_HOOKS) return [...others, { config, isLegacy }];
      throw failure('too_many_webhooks/task', { limit: MAX_HOOKS });
    });
    if (!isFinal(job.state)) await this.#follow(job, { after: job.cursor });
    return config;
  }

  list(job: Job): TaskPushNotificationConfig[] {
    return hooksOf(job).map(({ config }) => config);
  }

  async remove(job: Job, configId: string): Promise<void> {
    await changeNotes<StoredHook>(this.#options.jobs.engine, job.id, HOOKS, (hooks) =>
      hooks.filter(({ config }) => config.id !== configId),
    );
  }

  /** Takes over tasks that no gateway follows any more. */
  async takeOver(jobs: readonly Job[]): Promise<void> {
    const now = this.#options.clock.now();
    for (const job of jobs) {
      const due = job.notes?.due as PushDue;
      if (due.until <= now && this.#followed.size < MAX_TASKS) await this.#follow(job, due, due);
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
    const shared = { ...this.#options, posts: this.#posts, by: this.#id };
    const follower = new PushFollower(job, shared);
    this.#followed.set(job.id, follower);
    const done = () => void this.#followed.delete(job.id);
    void follower.done.then(done);
    await follower.begin(from.after, was);
  }

  #renew(): void {
    for (const follower of this.#followed.values()) void follower.renew();
  }
}

function hooksOf({ notes }: Job): readonly StoredHook[] {
  return (notes?.[HOOKS] as readonly StoredHook[] | undefined) ?? [];
}

// Posts the updates of one task to its webhooks. How far it came is kept with the job, under a lease: a
// gateway that ends or dies is followed by another, which posts nothing twice but what was under way.
// The id of a webhook request is the same each time, so that receivers know repetitions.

interface PushFollowerOptions extends PushNotificationsOptions {
  readonly posts: SignedPosts;
  /** The gateway. */
  readonly by: string;
}

/** As it is kept with the job. */
interface StoredHook {
  readonly config: TaskPushNotificationConfig;
  /** Of the request that made it: bodies have its form. */
  readonly isLegacy: boolean;
}

/** What is kept with the job while it is followed. */
interface PushDue {
  readonly by: string;
  /** Another gateway may take over after this. */
  readonly until: number;
  /** Updates up to this event were posted. */
  readonly after: number;
}

const PUSH_LEASE_MS = 30_000;
const DUE = 'due';
const TRIES = 3;
const RETRY_MS = 1_000;

class PushFollower {
  readonly #job: Job;
  readonly #options: PushFollowerOptions;
  readonly #log: Log;
  readonly #stop = new AbortController();
  readonly #done = Promise.withResolvers<void>();
  #due: PushDue | undefined;
  /** Notes are written one after the other. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(job: Job, options: PushFollowerOptions) {
    this.#job = job;
    this.#options = options;
    const { trace_id, span_id } = job.trace;
    this.#log = options.log.child({ job_id: job.id, trace_id, span_id });
  }

  /** Resolves when there is nothing more to post from here. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** False when another gateway follows the task, or the lease cannot be written. */
  async begin(after: number, was: PushDue | undefined): Promise<boolean> {
    this.#due = was;
    const isOurs = await this.#write(this.#lease(after)).catch((err: unknown) => {
      this.#log.warn({ err }, 'a2a: webhooks of a task cannot be followed now');
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
    const { jobs } = this.#options;
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
      if (!signal.aborted) this.#log.warn({ err }, 'a2a: webhooks were given up');
    } finally {
      this.#done.resolve();
    }
  }

  /** To all webhooks that the task has now. */
  async #post(update: StreamResponse, number: string): Promise<void> {
    const job = await this.#options.jobs.engine.get(this.#job.id);
    const hooks = job === undefined ? [] : hooksOf(job);
    await Promise.all(hooks.map((hook) => this.#deliver(hook, update, number)));
  }

  /** Never rejects. */
  async #deliver({ config, isLegacy }: StoredHook, update: StreamResponse, number: string) {
    const { posts, retryMs = RETRY_MS } = this.#options;
    const id = `${config.taskId}.${config.id}.${number}`;
    const post = toPost(config, id, await serializePush(update, isLegacy));
    for (let tries = 1; ; tries += 1) {
      const failure = await posts.send(post);
      if (failure === undefined) return;
      const isOver = failure.isFinal || tries === TRIES || this.#stop.signal.aborted;
      const fields = { webhook_id: id, tries, ...failure };
      if (isOver) return this.#log.warn(fields, 'a2a: a webhook was given up');
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
