import type { EventPage, StoredEvent } from '../coordination-store.ts';

/** Kept as text: a caller that changes a value it gave or got changes no other caller's value. */
export interface EventRecord {
  readonly version: number;
  readonly at: number;
  readonly json: string;
}

/** How much of its past a partition keeps; a reader that asks for older events gets a gap. */
export interface EventLimits {
  readonly keepEvents: number;
  /** Of their JSON; the newest event is kept however large it is. */
  readonly keepEventBytes: number;
}

/** What an event takes beside its JSON. */
const EVENT_BYTES = 64;

export type AskedEventLimits = { readonly [name in keyof EventLimits]?: number | undefined };

export function toEventLimits({
  keepEvents = 10_000,
  keepEventBytes = 32 * 1024 * 1024,
}: AskedEventLimits): EventLimits {
  return { keepEvents, keepEventBytes };
}

/**
 * The last events of a partition, in order of their versions. Kept by columns: there are many, and to
 * forget an old event must not load its text into the processor's caches again.
 */
export class PartitionEvents {
  readonly #limits: EventLimits;
  readonly #versions: number[] = [];
  readonly #times: number[] = [];
  readonly #texts: string[] = [];
  readonly #sizes: number[] = [];
  /** What stands before this index is trimmed; it is cut off many at a time. */
  #start = 0;
  #bytes = 0;
  #trimmedTo: number;

  constructor(limits: EventLimits, records: readonly EventRecord[] = [], trimmedTo = 0) {
    this.#limits = limits;
    this.#trimmedTo = trimmedTo;
    for (const record of records) this.append(record);
  }

  get trimmedTo(): number {
    return this.#trimmedTo;
  }

  /** Of the newest event that ever was; 0 without any. */
  get last(): number {
    return this.#versions.at(-1) ?? this.#trimmedTo;
  }

  /** Of their JSON, and of what it takes to keep each. */
  get size(): number {
    return this.#bytes + EVENT_BYTES * (this.#versions.length - this.#start);
  }

  get records(): readonly EventRecord[] {
    return this.#slice(this.#start, this.#versions.length);
  }

  append({ version, at, json }: EventRecord): void {
    const size = Buffer.byteLength(json);
    this.#versions.push(version);
    this.#times.push(at);
    this.#texts.push(json);
    this.#sizes.push(size);
    this.#bytes += size;
    while (this.#isTooLong()) this.#trimOne();
    if (this.#start > this.#limits.keepEvents) this.#cut();
  }

  /** Forgets all events: a reader whose cursor is before `version` finds a gap. */
  trimTo(version: number): void {
    while (this.#start < this.#versions.length) this.#trimOne();
    this.#cut();
    this.#trimmedTo = version;
  }

  page(after: number, limit: number, version: number): EventPage {
    if (after > version) return { events: [], cursor: version, gap: true };
    const first = this.#indexAfter(after);
    const records = this.#slice(first, first + limit);
    const isLast = first + records.length >= this.#versions.length;
    return {
      events: records.map(toStoredEvent),
      cursor: isLast ? version : (records.at(-1)?.version ?? after),
      gap: after < this.#trimmedTo,
    };
  }

  #slice(from: number, to: number): EventRecord[] {
    return this.#versions.slice(from, to).map((version, index) => ({
      version,
      at: this.#times[from + index] ?? 0,
      json: this.#texts[from + index] ?? 'null',
    }));
  }

  #indexAfter(version: number): number {
    let low = this.#start;
    let high = this.#versions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#versions[middle] ?? 0) <= version) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #isTooLong(): boolean {
    const { keepEvents, keepEventBytes } = this.#limits;
    const events = this.#versions.length - this.#start;
    return events > keepEvents || (this.#bytes > keepEventBytes && events > 1);
  }

  #trimOne(): void {
    const index = this.#start;
    this.#trimmedTo = this.#versions[index] ?? this.#trimmedTo;
    this.#bytes -= this.#sizes[index] ?? 0;
    this.#texts[index] = '';
    this.#start += 1;
  }

  #cut(): void {
    const columns = [this.#versions, this.#times, this.#texts, this.#sizes];
    for (const column of columns) column.splice(0, this.#start);
    this.#start = 0;
  }
}

function toStoredEvent({ version, at, json }: EventRecord): StoredEvent {
  return { version, at, event: JSON.parse(json), size: json.length };
}
