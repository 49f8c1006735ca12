import type { EventPage, StoredEvent } from '../ports/store.ts';

/** Kept as text: what a caller does to a value it gave or got reaches nobody else. */
export interface EventRecord {
  readonly version: number;
  readonly at: number;
  readonly json: string;
}

/** How much of its past a partition keeps; what is older is a gap for whoever asks for it. */
export interface EventLimits {
  readonly keepEvents: number;
  /** Of their JSON; the newest event is kept however large it is. */
  readonly keepEventBytes: number;
}

export type AskedEventLimits = { readonly [name in keyof EventLimits]?: number | undefined };

export function toEventLimits({
  keepEvents = 10_000,
  keepEventBytes = 32 * 1024 * 1024,
}: AskedEventLimits): EventLimits {
  return { keepEvents, keepEventBytes };
}

const TRIMMED: EventRecord = { version: 0, at: 0, json: '' };

/** The last events of a partition, in order of their versions. */
export class EventLog {
  readonly #limits: EventLimits;
  readonly #records: EventRecord[] = [];
  /** Records before this index are trimmed; they are cut off many at a time. */
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
    return this.#records.at(-1)?.version ?? this.#trimmedTo;
  }

  get records(): readonly EventRecord[] {
    return this.#records.slice(this.#start);
  }

  append(record: EventRecord): void {
    this.#records.push(record);
    this.#bytes += Buffer.byteLength(record.json);
    while (this.#isTooLong()) this.#trimOne();
    if (this.#start <= this.#limits.keepEvents) return;
    this.#records.splice(0, this.#start);
    this.#start = 0;
  }

  page(after: number, limit: number, version: number): EventPage {
    if (after > version) return { events: [], cursor: version, gap: true };
    const first = this.#indexAfter(after);
    const records = this.#records.slice(first, first + limit);
    const isLast = first + records.length >= this.#records.length;
    return {
      events: records.map(toStoredEvent),
      cursor: isLast ? version : (records.at(-1)?.version ?? after),
      gap: after < this.#trimmedTo,
    };
  }

  #indexAfter(version: number): number {
    let low = this.#start;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#records[middle]?.version ?? 0) <= version) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #isTooLong(): boolean {
    const { keepEvents, keepEventBytes } = this.#limits;
    const events = this.#records.length - this.#start;
    return events > keepEvents || (this.#bytes > keepEventBytes && events > 1);
  }

  #trimOne(): void {
    const { version, json } = this.#records[this.#start] ?? TRIMMED;
    this.#records[this.#start] = TRIMMED;
    this.#start += 1;
    this.#bytes -= Buffer.byteLength(json);
    this.#trimmedTo = version;
  }
}

function toStoredEvent({ version, at, json }: EventRecord): StoredEvent {
  return { version, at, event: JSON.parse(json), size: json.length };
}
