import type { EventPage, StoredEvent } from '../coordination-store.ts';

const MOST_EVENTS = 1_024;
const MOST_SIZE = 4 * 1024 * 1024;

/** The latest events of a partition without a gap, for those who are only a little behind. */
export class RecentEvents {
  #events: StoredEvent[] = [];
  #size = 0;
  /** All events after this version are here. */
  #from: number;

  constructor(from: number) {
    this.#from = from;
  }

  add({ events, gap, cursor }: EventPage): void {
    if (gap) {
      this.#events = [];
      this.#size = 0;
      this.#from = cursor;
      return;
    }
    for (const event of events) {
      this.#events.push(event);
      this.#size += event.size;
    }
    this.#trim();
  }

  /** `undefined` when some of them are not here any more. */
  after(cursor: number): readonly StoredEvent[] | undefined {
    if (cursor < this.#from) return undefined;
    if ((this.#events.at(-1)?.version ?? 0) <= cursor) return [];
    return this.#events.slice(this.#events.findIndex(({ version }) => version > cursor));
  }

  #trim(): void {
    let surplus = 0;
    for (const { version, size } of this.#events) {
      if (this.#events.length - surplus <= MOST_EVENTS && this.#size <= MOST_SIZE) break;
      this.#size -= size;
      this.#from = version;
      surplus += 1;
    }
    this.#events.splice(0, surplus);
  }
}
