// Clients at work: each submits a job, follows it over any number of lost connections, answers what its
// agent asks, cancels it now and then, and begins again.

import { setTimeout as delay } from 'node:timers/promises';
import { createTrace, type NewJob } from '@starloom/core';
import type { Random } from '../coordination/random.ts';
import { type Door, type DoorJob, Refused } from './door.ts';
import { PRINCIPAL } from './gateway.ts';
import { type History, isEnd, isFinalState, KINDS, type Kind, type Stream } from './history.ts';

export interface WorkloadOptions {
  readonly doors: readonly [Door, ...Door[]];
  readonly history: History;
  readonly random: Random;
  readonly agentUrl: string;
  readonly clients: number;
  /** A hang guard, not a measure: a client gives a job up after this, the audit does not. */
  readonly followMs: number;
}

const RETRY_MS = 60;

export class Workload {
  readonly #options: WorkloadOptions;
  /** Keys live longer than a round: those of another one must not be met. */
  readonly #name = crypto.randomUUID();
  #keys = 0;

  constructor(options: WorkloadOptions) {
    this.#options = options;
  }

  /** Until the signal aborts; then every client finishes what it is at. */
  async run(signal: AbortSignal): Promise<void> {
    const { clients, random } = this.#options;
    const work = async (own: Random) => {
      while (!signal.aborted) await this.#one(own);
    };
    await Promise.all(Array.from({ length: clients }, () => work(random.fork())));
  }

  /** Waits until all accepted jobs are over, then reads what is stored. */
  async audit(waitMs: number): Promise<void> {
    const { history } = this.#options;
    const until = performance.now() + waitMs;
    const open = [...history.accepted.keys()];
    const worker = async () => {
      for (let id = open.pop(); id !== undefined; id = open.pop()) await this.#read(id, until);
    };
    await Promise.all(Array.from({ length: 16 }, worker));
  }

  async #one(random: Random): Promise<void> {
    const kind = random.pick(KINDS);
    const jobId = await this.#submit(kind, random);
    if (jobId === undefined) return void (await delay(RETRY_MS));
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), this.#options.followMs);
    const helpers = [this.#answer(jobId, kind, random, over.signal)];
    if (!this.#hasCancelled() || random.chance(0.2)) {
      helpers.push(this.#cancel(jobId, random, over.signal));
    }
    if (random.chance(0.8)) await this.#follow(jobId, random, over.signal);
    else await this.#wait(jobId, random, over.signal);
    over.abort();
    clearTimeout(timer);
    await Promise.all(helpers);
  }

  /** The id of a job that was accepted for certain. */
  async #submit(kind: Kind, random: Random): Promise<string | undefined> {
    const { agentUrl } = this.#options;
    const job: NewJob = {
      principalId: PRINCIPAL,
      capability: kind,
      agentId: 'flaky',
      trace: createTrace(),
      call: { kind, agent: agentUrl },
      idempotent: kind === 'safe',
      timeoutMs: 60_000,
      priority: random.below(3),
      retry: { attempts: 3, backoff_ms: 100, max_backoff_ms: 1_000 },
    };
    if (!random.chance(0.3)) return this.#submitOnce(job, kind, random);
    this.#keys += 1;
    const key = `${this.#name}-${this.#keys}`;
    const keyed = { ...job, idempotencyKey: key };
    for (let left = 20; left > 0; left -= 1) {
      // Two at once: both must be given the same job.
      const both = [this.#submitOnce(keyed, kind, random), this.#submitOnce(keyed, kind, random)];
      const ids = (await Promise.all(both)).filter((id) => id !== undefined);
      const known = this.#options.history.keys.get(key) ?? new Set();
      for (const id of ids) known.add(id);
      if (ids.length > 0) this.#options.history.keys.set(key, known);
      if (ids[0] !== undefined) return ids[0];
      await delay(RETRY_MS * 2);
    }
    return undefined;
  }

  async #submitOnce(job: NewJob, kind: Kind, random: Random): Promise<string | undefined> {
    const made = await this.#ask(random, (door) => door.submit(job));
    if (made === undefined || made instanceof Refused) return undefined;
    this.#options.history.accepted.set(made.job_id, { jobId: made.job_id, kind });
    return made.job_id;
  }

  async #follow(jobId: string, random: Random, signal: AbortSignal): Promise<void> {
    const stream: Stream = { jobId, items: [], isComplete: false, reconnects: -1 };
    this.#options.history.streams.push(stream);
    while (!signal.aborted && !stream.isComplete) {
      stream.reconnects += 1;
      try {
        const after = stream.items.length;
        for await (const item of this.#door(random).stream(jobId, after, signal)) {
          stream.items.push(item);
        }
        stream.isComplete = true;
      } catch {
        await delay(RETRY_MS);
      }
    }
    if (stream.isComplete) await this.#note(jobId, random);
  }

  async #wait(jobId: string, random: Random, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.#note(jobId, random))) await delay(RETRY_MS);
  }

  /** Notes a final state; true when there is one. */
  async #note(jobId: string, random: Random): Promise<boolean> {
    const job = await this.#ask(random, (door) => door.status(jobId));
    if (job === undefined || job instanceof Refused || !isFinalState(job.state)) return false;
    this.#options.history.seen.push({ jobId, state: job.state, answer: job.result?.answer });
    return true;
  }

  async #answer(jobId: string, kind: Kind, random: Random, signal: AbortSignal): Promise<void> {
    if (kind !== 'asking' && kind !== 'parked') return;
    while (!signal.aborted) {
      const job = await this.#ask(random, (door) => door.status(jobId));
      if (job !== undefined && !(job instanceof Refused)) {
        if (isFinalState(job.state)) return;
        if (job.state === 'awaiting_input') {
          const answers = [{ id: 'q', response: { action: 'accept' } }];
          await this.#ask(random, (door) => door.answer(jobId, answers));
        }
      }
      await delay(RETRY_MS);
    }
  }

  /** Until one job was cancelled every job is, and at once: a short round must see the state. */
  async #cancel(jobId: string, random: Random, signal: AbortSignal): Promise<void> {
    if (this.#hasCancelled()) await delay(random.below(250));
    while (!signal.aborted) {
      const answer = await this.#ask(random, (door) => door.cancel(jobId));
      if (answer !== undefined) return;
      await delay(RETRY_MS);
    }
  }

  #hasCancelled(): boolean {
    return this.#options.history.seen.some(({ state }) => state === 'cancelled');
  }

  async #ask(
    random: Random,
    ask: (door: Door) => Promise<DoorJob>,
  ): Promise<DoorJob | Refused | undefined> {
    const { requests } = this.#options.history;
    try {
      const job = await ask(this.#door(random));
      requests.ok += 1;
      return job;
    } catch (error) {
      if (error instanceof Refused) {
        requests.refused += 1;
        return error;
      }
      requests.unknown += 1;
      return undefined;
    }
  }

  #door(random: Random): Door {
    return random.pick(this.#options.doors);
  }

  async #read(id: string, until: number): Promise<void> {
    const { history, doors, random, followMs } = this.#options;
    const { kind } = history.accepted.get(id) ?? { kind: 'plain' };
    for (;;) {
      const job = await this.#ask(random, (door) => door.status(id));
      if (job instanceof Refused && job.code === 'JOB_NOT_FOUND') return;
      if (job !== undefined && !(job instanceof Refused)) {
        if (job.state === 'awaiting_input') {
          const answers = [{ id: 'q', response: { action: 'accept' } }];
          await this.#ask(random, (door) => door.answer(id, answers));
        }
        if (isFinalState(job.state) || performance.now() > until) {
          const events = await readAll(doors[0], id, isFinalState(job.state), until + followMs);
          const { state, attempt, result, error } = job;
          const reason = error?.details.reason;
          history.stored.set(id, { state, attempt, answer: result?.answer, reason, events });
          return;
        }
      }
      if (performance.now() > until + followMs) throw new Error(`${kind} job ${id}: no answer`);
      await delay(RETRY_MS * 3);
    }
  }
}

async function readAll(door: Door, id: string, isOver: boolean, until: number) {
  for (;;) {
    const events = [];
    try {
      const signal = AbortSignal.timeout(isOver ? 10_000 : 500);
      for await (const item of door.stream(id, 0, signal)) events.push(item);
      return events;
    } catch (error) {
      if (!isOver || performance.now() > until) return events;
      if (events.some(({ type }) => isEnd(type))) return events;
      if (!(error instanceof Error)) throw error;
      await delay(RETRY_MS);
    }
  }
}
