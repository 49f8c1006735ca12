import type { RpcAnswer } from '@starloom/coordination';
import { z } from 'zod';
import { resultsOf } from './results-of.ts';

const ACQUIRE = 'memory_locker.acquire';
/** The client receives a grant in the last moment a little later. */
const LATE_MS = 1_000;

const queuedSchema = z.object({
  params: z.looseObject({ wait_ms: z.number() }),
  result: z.looseObject({ queued: z.literal(true), ticket: z.string() }),
});
const grantSchema = z.object({
  method: z.literal('memory_locker.granted'),
  params: z.looseObject({ ticket: z.string() }),
});

/** Places in queues for locks, each until the client received its grant or its time is over. */
export class OpenTickets implements Disposable {
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #onNone: () => void;

  constructor(onNone: () => void) {
    this.#onNone = onNone;
  }

  get isEmpty(): boolean {
    return this.#timers.size === 0;
  }

  /** Takes those that an answer gave. */
  add(body: unknown, answer: RpcAnswer): void {
    for (const granted of resultsOf(ACQUIRE, body, answer)) {
      const queued = queuedSchema.safeParse(granted).data;
      if (queued) this.#open(queued.result.ticket, queued.params.wait_ms);
    }
  }

  notified(notification: string): void {
    if (this.isEmpty) return;
    const grant = grantSchema.safeParse(JSON.parse(notification)).data;
    if (grant) this.#end(grant.params.ticket);
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #open(ticket: string, waitMs: number): void {
    const timer = setTimeout(() => this.#end(ticket), waitMs + LATE_MS);
    this.#timers.set(ticket, timer.unref());
  }

  #end(ticket: string): void {
    clearTimeout(this.#timers.get(ticket));
    if (this.#timers.delete(ticket) && this.isEmpty) this.#onNone();
  }
}
