import type { EventPage, StoredEvent } from '../ports/store.ts';

/** Kept as text: what a caller does to a value it gave or got reaches nobody else. */
export interface EventRecord {
  readonly version: number;
  readonly at: number;
  readonly json: string;
}

/** The last events of a partition, in order of their versions. */
export class EventLog {
  readonly #limit: number;
  #records: EventRecord[];
  /** Records before this index are trimmed; they are cut off many at a time. */
  #start = 0;
  #trimmedTo: number;

  constructor(limit: number, records: readonly EventRecord[] = [], trimmedTo = 0) {
    this.#limit = limit;
    this.#records = [...records];
    this.#trimmedTo = trimmedTo;
    this.#trim();
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
    this.#trim();
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

  #trim(): void {
    const surplus = this.#records.length - this.#limit;
    if (surplus <= this.#start) return;
    this.#start = surplus;
    this.#trimmedTo = this.#records[surplus - 1]?.version ?? this.#trimmedTo;
    if (this.#start <= this.#limit) return;
    this.#records = this.#records.slice(this.#start);
    this.#start = 0;
  }
}

function toStoredEvent({ version, at, json }: EventRecord): StoredEvent {
  return { version, at, event: JSON.parse(json) };
}
