import { RecentMap } from '@starloom/core';
import type { HeldLock } from './held-locks.ts';

/** A request for a lock that was answered by a place in the queue. */
export interface Ticket {
  readonly session_id: string;
  readonly resource: string;
  readonly ticket: string;
}

export interface OpenTicket extends Ticket {
  readonly ttlMs: number;
}

const REMEMBERED = 1_000;

/** Those whose turn has not come, and what the others were granted. */
export class Tickets {
  readonly #open = new Map<string, OpenTicket>();
  readonly #locks = new RecentMap<HeldLock>(REMEMBERED);

  /** Gives the lock if its grant came before the ticket itself. */
  open(opened: OpenTicket): HeldLock | undefined {
    const lock = this.#locks.get(opened.ticket);
    if (lock) return lock;
    this.#open.set(opened.ticket, opened);
    const [oldest] = this.#open.keys();
    if (this.#open.size > REMEMBERED && oldest !== undefined) this.#open.delete(oldest);
    return undefined;
  }

  /** Gives what was asked for, if the ticket was open. */
  grant(ticket: string, lock: HeldLock): OpenTicket | undefined {
    const opened = this.#open.get(ticket);
    this.#open.delete(ticket);
    this.#locks.set(ticket, lock);
    return opened;
  }

  /** False when it was not open. */
  close(ticket: string): boolean {
    return this.#open.delete(ticket);
  }

  isOpen(ticket: string): boolean {
    return this.#open.has(ticket);
  }

  lockOf(ticket: string): HeldLock | undefined {
    return this.#locks.get(ticket);
  }

  /** The open ones of a session, or all. */
  list(sessionId?: unknown): readonly OpenTicket[] {
    const all = [...this.#open.values()];
    return all.filter(({ session_id }) => sessionId === undefined || session_id === sessionId);
  }
}
