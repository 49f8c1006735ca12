// What the page counts of calls: the newest ones of the last day, a few fields of each in memory, so that
// figures of any window are one pass over them. Read from the journal when the page first asks, and kept
// current by following it; pages hear of every call from here.

import type { CallFigures } from '@starloom/console/api-types';
import { FabricError, type Journal, type JournalCall, type Log } from '@starloom/core';
import { callIdOf, servedBy, statusOf } from './call-rows.ts';

export interface CallFact {
  readonly traceId: string;
  readonly spanId: string;
  readonly endedAt: number;
  readonly ms: number;
  readonly code: string | null;
  readonly isError: boolean;
  readonly isFallback: boolean;
  readonly principal: string;
  readonly face: string;
  /** The agent whose call it is part of; absent for calls of clients. */
  readonly caller?: string | undefined;
  readonly agent?: string | undefined;
  readonly capability: string;
}

interface CallFactsOptions {
  readonly journal: Journal;
  readonly log: Log;
  readonly now: () => number;
}

const MAX_FACTS = 50_000;
const KEPT_MS = 24 * 3_600_000;
const PAGE = 1_000;
const RETRY_MS = 1_000;

export class CallFacts {
  readonly #options: CallFactsOptions;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<(call: JournalCall) => void>();
  readonly #running = new Map<string, string>();
  #facts: CallFact[] = [];
  #ready: Promise<void> | undefined;

  constructor(options: CallFactsOptions) {
    this.#options = options;
  }

  /** Calls of this principal, or of all, that ended since then; oldest first. */
  async since(from: number, principal: string | undefined): Promise<readonly CallFact[]> {
    await this.start();
    return this.#facts.filter(
      (fact) => fact.endedAt >= from && (principal === undefined || fact.principal === principal),
    );
  }

  /** Calls that run and were written down; those that end at once never are. */
  running(principal: string | undefined): number {
    if (principal === undefined) return this.#running.size;
    return [...this.#running.values()].filter((owner) => owner === principal).length;
  }

  /** Called with each call that begins, goes on or ends; returns how to stop. */
  onCall(listener: (call: JournalCall) => void): () => void {
    this.#listeners.add(listener);
    void this.start();
    return () => void this.#listeners.delete(listener);
  }

  start(): Promise<void> {
    this.#ready ??= this.#load();
    return this.#ready;
  }

  close(): void {
    this.#stop.abort();
  }

  async #load(): Promise<void> {
    const { journal, log, now } = this.#options;
    await journal.flushed();
    const oldest = now() - KEPT_MS;
    const filter = { since: oldest };
    const first = await journal.list(filter, { limit: PAGE });
    const pages = [first];
    for (let { next } = first; next !== undefined && pages.length * PAGE < MAX_FACTS; ) {
      const page = await journal.list(filter, { limit: PAGE, before: next });
      pages.push(page);
      next = page.next;
    }
    for (const page of pages.reverse()) {
      for (const call of [...page.calls].reverse()) this.#note(call);
    }
    this.#follow(first.cursor).catch((thrown: unknown) => {
      log.error({ error: FabricError.from(thrown) }, 'the console no longer follows the journal');
    });
  }

  async #follow(after: number): Promise<void> {
    const { journal, log } = this.#options;
    const { signal } = this.#stop;
    for (let cursor: number | undefined = after; !signal.aborted; cursor = undefined) {
      try {
        for await (const call of journal.follow({}, { signal, after: cursor })) {
          this.#note(call);
          for (const listener of [...this.#listeners]) listener(call);
        }
        return;
      } catch (thrown) {
        log.warn(
          { error: FabricError.from(thrown) },
          'the journal could not be read; trying again',
        );
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
      }
    }
  }

  #note(call: JournalCall): void {
    const id = callIdOf(call);
    const principal = call.principal ?? '';
    if (call.ended_at === null) {
      this.#running.set(id, principal);
      return;
    }
    this.#running.delete(id);
    // Tools of the gateway itself are no calls of agents.
    if (call.capability === null) return;
    this.#facts.push(toFact(call, call.ended_at));
    if (this.#facts.length > MAX_FACTS * 1.1) this.#facts = this.#facts.slice(-MAX_FACTS);
  }
}

function toFact(call: JournalCall, endedAt: number): CallFact {
  const { chain, code } = call;
  return {
    traceId: call.trace_id,
    spanId: call.span_id,
    endedAt,
    ms: call.ms ?? 0,
    code,
    isError: statusOf(call) === 'error',
    isFallback: call.fallback,
    principal: call.principal ?? '',
    face: call.face,
    caller: chain.at(-1)?.split('/', 1)[0],
    agent: servedBy(call),
    capability: call.capability ?? call.tool,
  };
}

export function figuresOf(facts: readonly CallFact[]): CallFigures {
  const sorted = facts.map(({ ms }) => ms).sort((one, other) => one - other);
  const at = (share: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return {
    calls: facts.length,
    errors: facts.filter(({ isError }) => isError).length,
    fallbacks: facts.filter(({ isFallback }) => isFallback).length,
    ...(sorted.length > 0 && { p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99) }),
  };
}
