// When a task that is not streamed is read again: at growing intervals, or when the agent notifies us.
// A notice is a hint alone. While they come the intervals grow long; a change without one shortens
// them again.

import { type CallContext, type InboundWebhook, orAborted } from '@starloom/core';
import { deadlineSignal, type Excerpt } from '@starloom/wire';
import type { A2aConnection, CallLine } from './connection.ts';
import { toFailure } from './failure.ts';
import type { A2aOptions } from './options.ts';

interface TaskWatchOptions {
  readonly connection: A2aConnection;
  readonly context: CallContext;
  readonly excerpt: Excerpt;
  readonly options: Pick<A2aOptions, 'poll_interval_ms' | 'push'>;
  readonly headers: CallLine['headers'];
}

const FIRST_POLL_MS = 50;
/** A task that lasts longer is worth a webhook. */
const READS_BEFORE_WEBHOOK = 3;
/** Longest wait while notices come. */
const NOTIFIED_POLL_MS = 30_000;
/** So often is a task read at most, however many notices come. */
const LEAST_WAIT_MS = 50;
const REGISTER_MS = 5_000;

export class TaskWatch {
  readonly #options: TaskWatchOptions;
  #hook: InboundWebhook | undefined;
  #taskId = '';
  #longestMs: number;
  #nextMs = FIRST_POLL_MS;
  #reads = 0;
  /** A notice came since the last read began. */
  #isNoticed = false;
  /** The last read followed a notice. */
  #wasNoticed = false;
  #wake: () => void = () => {};

  constructor(options: TaskWatchOptions) {
    this.#options = options;
    this.#longestMs = options.options.poll_interval_ms;
  }

  /** Resolves when the task is to be read again; rejects with the reason of the signal. */
  async next(taskId: string, hadNews: boolean, signal: AbortSignal): Promise<void> {
    this.#reads += 1;
    const isMissed = hadNews && !this.#wasNoticed && !this.#isNoticed;
    if (this.#hook && isMissed) this.#longestMs = this.#options.options.poll_interval_ms;
    const isNew = this.#reads === READS_BEFORE_WEBHOOK && (await this.#register(taskId, signal));
    // What happened before the agent knew of the webhook is not notified: the task is read at once.
    if (!isNew) await this.#wait(signal);
    this.#wasNoticed = isNew || this.#isNoticed;
    this.#isNoticed = false;
  }

  /** The task goes on after an answer: it is read often again. */
  restart(): void {
    this.#nextMs = FIRST_POLL_MS;
  }

  /** Ends the webhook; `isOver`: the agent has nothing more to notify of. */
  end(isOver: boolean): Promise<void> | undefined {
    const hook = this.#hook;
    if (!hook) return undefined;
    this.#hook = undefined;
    hook[Symbol.dispose]();
    if (isOver) return undefined;
    const { connection, headers } = this.#options;
    const line = { headers, signal: AbortSignal.timeout(REGISTER_MS) };
    return connection.stopNotifying(this.#taskId, line);
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const ms = Math.min(this.#nextMs, this.#longestMs);
    this.#nextMs = 2 * ms;
    await this.#pause(Math.min(ms, LEAST_WAIT_MS), undefined, signal);
    if (ms <= LEAST_WAIT_MS || this.#isNoticed) return;
    const notice = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    await this.#pause(ms - LEAST_WAIT_MS, notice, signal);
  }

  async #register(taskId: string, signal: AbortSignal): Promise<boolean> {
    const { connection, context, options, headers, excerpt } = this.#options;
    if (!options.push || !connection.card.push) return false;
    const hook = context.openWebhook?.(() => {
      this.#isNoticed = true;
      this.#wake();
    });
    if (!hook) return false;
    using limit = deadlineSignal({ ms: REGISTER_MS, parent: signal });
    try {
      const line = { headers, signal: limit.signal };
      await orAborted(connection.notify(taskId, hook, line), limit.signal);
    } catch (error) {
      hook[Symbol.dispose]();
      signal.throwIfAborted();
      context.log.debug({ error: toFailure(error, excerpt) }, 'the agent took no webhook');
      return false;
    }
    this.#hook = hook;
    this.#taskId = taskId;
    this.#longestMs = Math.max(this.#longestMs, NOTIFIED_POLL_MS);
    return true;
  }

  async #pause(ms: number, notice: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const passed = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    try {
      await orAborted(notice ? Promise.race([notice, passed]) : passed, signal);
    } finally {
      clearTimeout(timer);
    }
  }
}
