// Keeps amounts below a limit without counting at every write: it adds up what was asked for, which
// is never less than what there is, and counts again only when that sum goes beyond the limit. What
// other processes add is seen at the next count.

import { overQuota } from '../errors.ts';
import { RecentMap } from '../support/recent-map.ts';
import type { CoordinationLimits } from './limits.ts';

export interface Amount {
  readonly entries: number;
  readonly bytes: number;
}

export interface MeterOptions {
  readonly limits: CoordinationLimits;
  readonly entries: keyof CoordinationLimits;
  readonly bytes?: keyof CoordinationLimits;
  /** What a refused caller can do about it. */
  readonly fix: string;
}

export interface Measured {
  readonly now: Amount;
  readonly more?: Amount;
}

export interface Reservation {
  /** What is measured: a session, a scope. */
  readonly name: string;
  /** What it will be at most. */
  readonly more: Amount;
  /** What is there, and if that can be told then, what exactly it will be more. */
  readonly measure: () => Promise<Measured>;
  /** Frees at least this much if it can. */
  readonly makeRoom?: (excess: Amount) => Promise<void>;
}

const METERED = 10_000;

export class Meter {
  readonly #options: MeterOptions;
  readonly #bounds = new RecentMap<Amount>(METERED);

  constructor(options: MeterOptions) {
    this.#options = options;
  }

  /** Refused with -32016 when there is no room for `more`; nothing to wait for when there surely is. */
  reserve(reservation: Reservation): Promise<void> | undefined {
    const { name, more } = reservation;
    const bound = this.#bounds.get(name);
    return bound && this.#fits(name, bound, more) ? undefined : this.#measure(reservation);
  }

  async #measure({ name, more, measure, makeRoom }: Reservation): Promise<void> {
    const measured = await measure();
    if (this.#fits(name, measured.now, measured.more ?? more)) return;
    const total = sum(measured.now, measured.more ?? more);
    if (makeRoom) {
      await makeRoom(this.#excess(total));
      if (this.#fits(name, (await measure()).now, more)) return;
    }
    throw this.#refusal(total);
  }

  #fits(name: string, bound: Amount, more: Amount): boolean {
    const total = sum(bound, more);
    const { entries, bytes } = this.#excess(total);
    if (entries > 0 || bytes > 0) return false;
    this.#bounds.set(name, total);
    return true;
  }

  #excess(total: Amount): Amount {
    const { limits, entries, bytes } = this.#options;
    const bytesAllowed = bytes === undefined ? Number.POSITIVE_INFINITY : limits[bytes];
    return {
      entries: Math.max(0, total.entries - limits[entries]),
      bytes: Math.max(0, total.bytes - bytesAllowed),
    };
  }

  #refusal(total: Amount) {
    const { limits, entries, bytes, fix } = this.#options;
    const limit = this.#excess(total).entries > 0 || bytes === undefined ? entries : bytes;
    return overQuota(limit, limits[limit], fix);
  }
}

function sum(a: Amount, b: Amount): Amount {
  return { entries: a.entries + b.entries, bytes: a.bytes + b.bytes };
}
