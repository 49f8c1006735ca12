// Keeps amounts below a limit without counting at every write: it adds up what was asked for, which
// is never less than what is stored. It counts again only when that sum goes beyond the limit. What
// can be freed is freed in larger parts, so that counting stays rare also where being full is
// usual. What other processes add is seen at the next count.

import { type Clock, RecentMap } from '@starloom/core';
import { failure } from '../reasons.ts';
import type { CoordinationLimits } from './limits.ts';

export interface MeterOptions {
  readonly limits: CoordinationLimits;
  /** What limits their number, their size, or both. */
  readonly entries?: keyof CoordinationLimits;
  readonly bytes?: keyof CoordinationLimits;
  readonly fix: string;
  /** So much of the limit is free after room was made; a tenth if nothing is said. */
  readonly freeShare?: number;
  /** With it, counts for callers that are refused take a small share of the time. */
  readonly clock?: Clock | undefined;
}

export interface Measured {
  readonly now: Amount;
  readonly more?: Amount;
  /** Frees at least this much if it can, and says how much it was. */
  readonly makeRoom?: (wanted: Amount) => Promise<Amount>;
}

export interface Reservation {
  /** What is measured: a session, a scope. */
  readonly name: string;
  /** What it will be at most. */
  readonly more: Amount;
  /** Measures what is stored and, if it is known then, exactly how much will be added. */
  readonly measure: () => Promise<Measured>;
}

const METERED = 10_000;
const FREE_SHARE = 0.1;
const NEARLY_SHARE = 0.01;
/** After a refusal, what was counted holds for so many times as long as the count took. */
const REFUSED_TIMES = 20;
const RETRY_AFTER_MS = 100;

export class Meter {
  readonly #options: MeterOptions;
  readonly #allowed: Amount;
  readonly #free: Amount;
  /** Above this it counts as full, so that it does not count again every few writes. */
  readonly #nearly: Amount;
  readonly #bounds = new RecentMap<Amount>(METERED);
  readonly #refusedUntil = new RecentMap<number>(METERED);
  /** Counts under way, one per name. */
  readonly #counts = new Map<string, Promise<void>>();
  /** Writes under way, of which a count would not know whether it saw them. */
  readonly #writes = new Map<string, Set<Promise<void>>>();

  constructor(options: MeterOptions) {
    const { limits, entries, bytes, freeShare = FREE_SHARE } = options;
    this.#options = options;
    const limitOf = (limit: keyof CoordinationLimits | undefined) =>
      limit === undefined ? Number.POSITIVE_INFINITY : limits[limit];
    this.#allowed = { entries: limitOf(entries), bytes: limitOf(bytes) };
    const share = (part: number): Amount => ({
      entries: entries === undefined ? 0 : Math.floor(this.#allowed.entries * part),
      bytes: bytes === undefined ? 0 : Math.floor(this.#allowed.bytes * part),
    });
    this.#free = share(freeShare);
    this.#nearly = difference(this.#allowed, share(Math.min(NEARLY_SHARE, freeShare)));
  }

  /** Refused with -32016 when there is no room for `more`; nothing to wait for when there surely is. */
  reserve(reservation: Reservation, written?: Promise<void>): Promise<void> | undefined {
    const { name, more } = reservation;
    const bound = this.#bounds.get(name);
    if (bound && this.#grant(name, sum(bound, more), written)) return undefined;
    return this.#count(reservation, written);
  }

  /** Reserves one entry where only the number of entries is limited. */
  reserveOne(
    name: string,
    count: () => Promise<number>,
    forget?: (count: number) => Promise<number>,
  ): Promise<void> | undefined {
    const makeRoom = async ({ entries }: Amount) => toEntries((await forget?.(entries)) ?? 0);
    return this.reserve({
      name,
      more: toEntries(1),
      measure: async () => ({ now: toEntries(await count()), makeRoom }),
    });
  }

  /** Counts what is written without having been asked for. */
  note(name: string, more: Amount): void {
    const bound = this.#bounds.get(name);
    if (bound) this.#bounds.set(name, sum(bound, more));
  }

  /** As `reserve`, until what was asked for is written: no count takes place before that. */
  async hold(reservation: Reservation): Promise<Disposable> {
    const { promise: written, resolve } = Promise.withResolvers<void>();
    await this.reserve(reservation, written);
    return { [Symbol.dispose]: resolve };
  }

  async #count(reservation: Reservation, written: Promise<void> | undefined): Promise<void> {
    const { name } = reservation;
    const other = this.#counts.get(name);
    if (other) {
      await other;
      return await this.reserve(reservation, written);
    }
    const bound = this.#bounds.get(name);
    const { clock } = this.#options;
    const began = clock?.monotonic() ?? 0;
    if (bound && began < (this.#refusedUntil.get(name) ?? 0))
      throw this.#refusal(bound, reservation.more);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#counts.set(name, promise);
    this.#bounds.delete(name);
    try {
      await Promise.all(this.#writes.get(name) ?? []);
      await this.#measure(reservation, written);
      this.#refusedUntil.delete(name);
    } catch (error) {
      const now = clock?.monotonic() ?? 0;
      this.#refusedUntil.set(name, now + REFUSED_TIMES * (now - began));
      throw error;
    } finally {
      this.#counts.delete(name);
      resolve();
    }
  }

  async #measure(reservation: Reservation, written: Promise<void> | undefined): Promise<void> {
    const { name } = reservation;
    const { now, more = reservation.more, makeRoom } = await reservation.measure();
    const total = sum(now, more);
    const isOfUse = covers(this.#allowed, more) && !covers(this.#nearly, total);
    const wanted = difference(total, difference(this.#allowed, this.#free));
    const freed = makeRoom && isOfUse ? await makeRoom(wanted) : NOTHING;
    const left = difference(now, freed);
    if (this.#grant(name, sum(left, more), written)) return;
    this.#bounds.set(name, left);
    throw this.#refusal(left, more);
  }

  #grant(name: string, total: Amount, written: Promise<void> | undefined): boolean {
    if (!covers(this.#allowed, total)) return false;
    this.#bounds.set(name, total);
    if (written) this.#noteWrite(name, written);
    return true;
  }

  #noteWrite(name: string, written: Promise<void>): void {
    const writes = this.#writes.get(name) ?? new Set();
    this.#writes.set(name, writes.add(written));
    void written.then(() => {
      writes.delete(written);
      if (writes.size === 0) this.#writes.delete(name);
    });
  }

  #refusal(held: Amount, more: Amount) {
    const { limits, entries, bytes, fix, clock } = this.#options;
    const total = sum(held, more);
    const isTooLarge = total.entries <= this.#allowed.entries;
    const limit = isTooLarge ? (bytes ?? entries) : entries;
    const details = clock && { held, retry_after_ms: RETRY_AFTER_MS };
    return failure('quota', { limit, allowed: limit && limits[limit], ...details, fix });
  }
}

export interface Amount {
  readonly entries: number;
  readonly bytes: number;
}

const NOTHING: Amount = { entries: 0, bytes: 0 };

function toEntries(entries: number): Amount {
  return { entries, bytes: 0 };
}

function sum(a: Amount, b: Amount): Amount {
  return { entries: a.entries + b.entries, bytes: a.bytes + b.bytes };
}

export function difference(a: Amount, b: Amount): Amount {
  return { entries: a.entries - b.entries, bytes: a.bytes - b.bytes };
}

export function covers(a: Amount, b: Amount): boolean {
  return a.entries >= b.entries && a.bytes >= b.bytes;
}

interface Sized {
  readonly bytes: number;
}

export function amountOf(items: readonly Sized[]): Amount {
  return { entries: items.length, bytes: items.reduce((bytes, item) => bytes + item.bytes, 0) };
}

/** As many of the first as it takes to have this much; all, if they are less. */
export function firstThatCover<Item extends Sized>(
  items: readonly Item[],
  wanted: Amount,
): readonly Item[] {
  let amount = NOTHING;
  const end = items.findIndex((item) => {
    if (covers(amount, wanted)) return true;
    amount = sum(amount, { entries: 1, bytes: item.bytes });
    return false;
  });
  return end === -1 ? items : items.slice(0, end);
}
