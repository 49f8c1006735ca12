// A job engine over a `JobLedger` that may live in another thread, or in a database. Documents become texts
// here, and listeners are called here for what this process does.

import {
  type Asked,
  type Claim,
  type ClaimOptions,
  type Clock,
  canonicalJson,
  isFinal,
  type Job,
  type JobAnswer,
  type JobEngine,
  type JobEvent,
  type JobFilter,
  type JobNote,
  type JobOutcome,
  type JobSchedule,
  type Log,
  type NewJob,
  type StoredJob,
  sha256Hex,
  type UpstreamHandle,
} from '@starloom/core';
import type { DocumentFolder } from '../document-folder.ts';
import { toEventMark } from '../transitions.ts';
import type { JobLedger } from './job-ledger.ts';
import type { EventText, Held } from './job-steps.ts';

/** The methods of a ledger, called from elsewhere: what they return comes back as a promise. */
export type RemoteLedger = {
  readonly [Name in keyof JobLedger]: (
    ...args: Parameters<JobLedger[Name]>
  ) => Promise<ReturnType<JobLedger[Name]>>;
};

/** Of every engine that keeps jobs. */
export interface KeptJobsOptions {
  /** Instead of the time of the machine or the database. */
  readonly clock?: Clock | undefined;
  readonly log?: Log;
  /** From this size on a document becomes a file. */
  readonly inlineBytes?: number;
}

export interface LedgerJobEngineOptions {
  readonly kind: string;
  readonly ledger: RemoteLedger;
  readonly clock: Clock;
  /** Where documents go that are too large for a row; without it, all are in rows. */
  readonly documents?: DocumentFolder;
  /** Where an engine of several processes passes on what the others do: by the id of a job, or `READY`. */
  readonly watchers?: Watchers;
  readonly check?: () => Promise<void>;
  readonly close?: () => Promise<void>;
}

/** What listeners of `onReady` watch. */
export const READY = 'ready';

/** Jobs of a principal that are removed at a time. */
const ERASE_PAGE = 100;

export class LedgerJobEngine implements JobEngine {
  readonly kind: string;
  readonly #options: LedgerJobEngineOptions;
  readonly #ledger: RemoteLedger;
  readonly #documents: DocumentFolder | undefined;
  readonly #watchers: Watchers;

  constructor(options: LedgerJobEngineOptions) {
    this.kind = options.kind;
    this.#options = options;
    this.#ledger = options.ledger;
    this.#documents = options.documents;
    this.#watchers = options.watchers ?? new Watchers();
  }

  async create(newJob: NewJob) {
    const { call, asked: _, ...input } = newJob;
    const id = crypto.randomUUID();
    const stored = this.#store(id, call);
    const text = typeof stored === 'string' ? stored : await stored;
    const fingerprint = newJob.idempotencyKey === undefined ? '' : fingerprintOf(newJob);
    const asked = { id, input, call: text, fingerprint };
    const made = await this.#ledger.create(asked, this.#now()).catch(async (error: unknown) => {
      await this.#documents?.discard(text);
      throw error;
    });
    if (made.created) this.#watchers.notify(READY);
    else await this.#documents?.remove(id);
    return { job: await this.#toStored(made), created: made.created };
  }

  async get(id: string): Promise<StoredJob | undefined> {
    const found = await this.#ledger.get(id);
    return found && this.#toStored(found);
  }

  async callOf(id: string): Promise<unknown> {
    const text = await this.#ledger.callOf(id);
    return text === undefined ? undefined : await this.#load(text);
  }

  list(filter: JobFilter) {
    return this.#ledger.list(filter);
  }

  async events(id: string, { after, limit }: { after: number; limit: number }) {
    const texts = await this.#ledger.events(id, after, limit);
    const events: JobEvent[] = [];
    for (const text of texts) events.push(await this.#load(text));
    return { events, cursor: after + events.length };
  }

  watch(id: string, listener: () => void): () => void {
    return this.#watchers.add(id, listener);
  }

  async append(claim: Claim, events: readonly JobEvent[]): Promise<boolean> {
    const texts = await this.#toTexts(claim.job.id, events);
    return this.#notifyIfDone(claim, await this.#ledger.append(toHeld(claim), texts, this.#now()));
  }

  markSent(claim: Claim): Promise<boolean> {
    return this.#ledger.markSent(toHeld(claim), this.#now());
  }

  keepHandle(claim: Claim, handle: UpstreamHandle): Promise<boolean> {
    return this.#ledger.keepHandle(toHeld(claim), handle, this.#now());
  }

  async markCancelDelivered(claim: Claim): Promise<boolean> {
    const held = toHeld(claim);
    return this.#notifyIfDone(claim, await this.#ledger.markCancelDelivered(held, this.#now()));
  }

  async ask(claim: Claim, asked: Asked, events: readonly JobEvent[]): Promise<boolean> {
    const texts = await this.#toTexts(claim.job.id, events);
    const done = await this.#ledger.ask(toHeld(claim), asked, texts, this.#now());
    return this.#notifyIfDone(claim, done);
  }

  resume(claim: Claim): Promise<boolean> {
    return this.#ledger.resume(toHeld(claim), this.#now());
  }

  async finish(claim: Claim, outcome: JobOutcome, events: readonly JobEvent[]): Promise<boolean> {
    const texts = await this.#toTexts(claim.job.id, events);
    const { state } = outcome;
    const end = state === 'succeeded' ? { state } : { state, error: outcome.error };
    const result =
      outcome.state === 'succeeded' ? await this.#store(claim.job.id, outcome.result) : undefined;
    const held = toHeld(claim);
    const call = end.state === 'cancelled' ? await this.#ledger.callOf(held.id) : undefined;
    const done = await this.#ledger.finish(held, end, texts, result, this.#now());
    if (done) this.#watchers.notify(READY);
    if (done && call !== undefined) await this.#documents?.discard(call);
    return this.#notifyIfDone(claim, done);
  }

  async answer(id: string, answers: readonly JobAnswer[]) {
    return this.#notifyOfChange(id, await this.#ledger.answer(id, answers, this.#now()));
  }

  async requestCancel(id: string) {
    const call = await this.#ledger.callOf(id);
    const after = await this.#ledger.requestCancel(id, this.#now());
    if (call !== undefined && after?.job.state === 'cancelled')
      await this.#documents?.discard(call);
    return this.#notifyOfChange(id, after);
  }

  async note(id: string, note: JobNote): Promise<boolean> {
    const done = await this.#ledger.note(id, note);
    if (done) this.#watchers.notify(id);
    return done;
  }

  listDue(limit: number) {
    return this.#ledger.listDue(limit);
  }

  async prune({ before, limit }: { before: number; limit: number }): Promise<number> {
    const ids = await this.#ledger.prune(before, limit, this.#now());
    for (const id of ids) await this.#documents?.remove(id);
    return ids.length;
  }

  async erase(principalId: string) {
    let deleted = 0;
    let open = 0;
    let cursor: string | undefined;
    do {
      const page = await this.#ledger.list({
        principalId,
        limit: ERASE_PAGE,
        ...(cursor !== undefined && { cursor }),
      });
      const ids = page.jobs.map(({ id }) => id);
      for (const { id, state } of page.jobs) if (!isFinal(state)) await this.requestCancel(id);
      const gone = await this.#ledger.remove(ids);
      for (const id of gone) await this.#documents?.remove(id);
      deleted += gone.length;
      open += ids.length - gone.length;
      cursor = page.next;
    } while (cursor !== undefined);
    return { deleted, open };
  }

  counts() {
    return this.#ledger.counts();
  }

  async claim(options: ClaimOptions): Promise<readonly Claim[]> {
    const { purpose = 'run' } = options;
    const claimed = await this.#ledger.claim(options, this.#now());
    const claims: Claim[] = [];
    for (const { call, ...rest } of claimed) {
      const claim = { ...rest, purpose, call: await this.#load(call) };
      claims.push(claim);
      this.#watchers.notify(claim.job.id);
    }
    return claims;
  }

  renew(claims: readonly Claim[], leaseMs: number) {
    const held = claims.map((claim) => toHeld(claim));
    return this.#ledger.renew(held, leaseMs, this.#now());
  }

  async retry(claim: Claim, events: readonly JobEvent[]): Promise<boolean> {
    const texts = await this.#toTexts(claim.job.id, events);
    return this.#notifyIfDone(claim, await this.#ledger.retry(toHeld(claim), texts, this.#now()));
  }

  async release(claim: Claim): Promise<boolean> {
    const done = await this.#ledger.release(toHeld(claim), this.#now());
    if (done) this.#watchers.notify(READY);
    return this.#notifyIfDone(claim, done);
  }

  settle(claim: Claim): Promise<void> {
    return this.#ledger.settle(toHeld(claim));
  }

  postpone(claim: Claim, delayMs: number): Promise<void> {
    return this.#ledger.postpone(toHeld(claim), this.#now() + delayMs);
  }

  onReady(listener: () => void): () => void {
    return this.#watchers.add(READY, listener);
  }

  schedule({ name, cron, timezone = 'UTC', job }: JobSchedule): Promise<void> {
    const row = { name, cron, timezone, job: JSON.stringify(job) };
    return this.#ledger.schedule(row, this.#now());
  }

  unschedule(name: string): Promise<void> {
    return this.#ledger.unschedule(name);
  }

  schedules() {
    return this.#ledger.schedules();
  }

  async check(): Promise<void> {
    await this.#options.check?.();
  }

  async close(): Promise<void> {
    await this.#options.close?.();
  }

  #now(): number {
    return this.#options.clock.now();
  }

  #store(id: string, document: unknown): string | Promise<string> {
    const text = JSON.stringify(document ?? null);
    return this.#documents?.store(id, text) ?? text;
  }

  #load<Document>(stored: string): Document | Promise<Document> {
    const text = this.#documents?.load(stored) ?? stored;
    return typeof text === 'string' ? JSON.parse(text) : text.then((read) => JSON.parse(read));
  }

  #notifyIfDone(claim: Claim, done: boolean): boolean {
    if (done) this.#watchers.notify(claim.job.id);
    return done;
  }

  async #notifyOfChange(id: string, found: LedgerJob | undefined): Promise<StoredJob | undefined> {
    if (found === undefined) return undefined;
    this.#watchers.notify(id);
    if (!isFinal(found.job.state)) this.#watchers.notify(READY);
    return this.#toStored(found);
  }

  async #toStored({ job, result }: LedgerJob): Promise<StoredJob> {
    if (result === undefined) return job;
    return { ...job, result: await this.#load(result) };
  }

  async #toTexts(id: string, events: readonly JobEvent[]): Promise<readonly EventText[]> {
    const texts: EventText[] = [];
    for (const event of events) {
      const stored = this.#store(id, event);
      const text = typeof stored === 'string' ? stored : await stored;
      texts.push({ ...toEventMark(event), text });
    }
    return texts;
  }
}

function toHeld({ job, lease, purpose }: Claim): Held {
  return { id: job.id, lease, purpose };
}

interface LedgerJob {
  readonly job: Job;
  readonly result?: string | undefined;
}

/** Equal for calls that ask for the same. */
export function fingerprintOf({ capability, agentId, call, asked = call }: NewJob): string {
  const whole = { capability, agentId: agentId ?? null, asked: asked ?? null };
  return sha256Hex(canonicalJson(whole, { loneSurrogates: 'escape' }));
}

/** Listeners by key. Costs nothing for keys that nothing listens to. */
export class Watchers {
  readonly #listeners = new Map<string, Set<() => void>>();

  get size(): number {
    return this.#listeners.size;
  }

  add(key: string, listener: () => void): () => void {
    const all = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, all);
    // A function of its own, so that the same listener can be added twice.
    const entry = () => listener();
    all.add(entry);
    return () => {
      all.delete(entry);
      if (all.size === 0 && this.#listeners.get(key) === all) this.#listeners.delete(key);
    };
  }

  notify(key: string): void {
    for (const listener of [...(this.#listeners.get(key) ?? [])]) listener();
  }

  notifyAll(): void {
    for (const key of [...this.#listeners.keys()]) this.notify(key);
  }
}
