// The list of calls as it changes: pages of the journal from the gateway, and the calls of the stream on
// top. New rows wait while the person reads further down, so nothing moves under the pointer.

import { batch, type Signal, signal } from '@preact/signals';
import type { CallFilter, CallPage, CallRow, NotRunning, StreamLine } from '../api-types.ts';
import { matchesFilter } from '../call-filter.ts';
import { GatewayError, request } from './api.ts';
import type { Readable } from './resource.ts';

export const MAX_ROWS = 50_000;
const PAGE = 500;
/** With fewer the person cannot scroll, which is how more are asked for. */
const ENOUGH = 100;
const FLUSH_MS = 100;

export class CallList {
  readonly rows: Signal<readonly CallRow[]> = signal([]);
  readonly waiting: Signal<number> = signal(0);
  readonly error: Signal<GatewayError | undefined> = signal(undefined);
  readonly off: Signal<NotRunning | undefined> = signal(undefined);
  readonly scope: Signal<'all' | 'own'> = signal('all');
  readonly isLoading: Signal<boolean> = signal(true);
  readonly isComplete: Signal<boolean> = signal(false);
  readonly filter: CallFilter;
  #cursor: string | undefined;
  #isReading = false;
  #isStale = false;
  #meanwhile = new Map<string, CallRow>();
  #holds = false;
  #flushedAt = -FLUSH_MS;
  #pending = new Map<string, CallRow>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(filter: CallFilter) {
    this.filter = filter;
  }

  /** For a screen; while nothing is read yet, there is no data. */
  get shown(): Readable<CallPage> {
    const calls = this.rows.value;
    const { value: off } = this.off;
    const { value: error } = this.error;
    const isKnown = calls.length > 0 || !(this.isLoading.value || off || error);
    const data = { ok: true, running: true, scope: this.scope.value, calls } as const;
    return { data: isKnown ? data : undefined, off, error, reload: () => void this.refresh() };
  }

  /** Reads from the newest on; what was shown stays until the answer is here. */
  async refresh(): Promise<void> {
    if (this.#isReading) {
      this.#isStale = true;
      return;
    }
    this.#cursor = undefined;
    this.#meanwhile = new Map();
    // The answer may be older than what the stream brought since it was asked for.
    await this.#read((page) => merge(page.calls, this.#meanwhile, this.filter, false).rows);
    if (this.rows.peek().length < ENOUGH) await this.more();
    else await this.#refreshStale();
  }

  /** An answer may bring few calls, or none: the gateway looks through a part of the journal for it. */
  async more(): Promise<void> {
    if (this.#isReading) return;
    const wanted = Math.min(MAX_ROWS, this.rows.peek().length + ENOUGH);
    while (this.#cursor !== undefined && !this.#isStale && this.rows.peek().length < wanted) {
      const before = this.#cursor;
      await this.#read((page) => {
        const rows = this.rows.peek();
        const known = new Set(rows.map(({ call_id }) => call_id));
        return [...rows, ...page.calls.filter(({ call_id }) => !known.has(call_id))];
      });
      if (this.#cursor === before) break;
    }
    await this.#refreshStale();
  }

  take(line: StreamLine): void {
    if (line.type === 'reload') void this.refresh();
    if (line.type !== 'call') return;
    this.#pending.set(line.call.call_id, line.call);
    if (this.#isReading) this.#meanwhile.set(line.call.call_id, line.call);
    // The first of a burst is shown at once, the rest ten times a second.
    const wait = Math.max(0, this.#flushedAt + FLUSH_MS - performance.now());
    this.#timer ??= setTimeout(() => this.#flush(), wait);
  }

  hold(holds: boolean): void {
    if (this.#holds === holds) return;
    this.#holds = holds;
    if (!holds) this.#flush();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #refreshStale(): Promise<void> {
    if (!this.#isStale) return;
    this.#isStale = false;
    await this.refresh();
  }

  async #read(rowsOf: (page: CallPage) => readonly CallRow[]): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      const query = { ...this.filter, limit: PAGE, cursor: this.#cursor };
      const page = await request<CallPage>('GET', 'calls', { query });
      batch(() => {
        this.error.value = undefined;
        this.isLoading.value = false;
        this.off.value = page.running ? undefined : page;
        if (!page.running) return;
        this.#cursor = page.next_cursor;
        this.isComplete.value = page.next_cursor === undefined;
        this.scope.value = page.scope;
        this.rows.value = rowsOf(page);
        this.isLoading.value = this.rows.value.length === 0 && !this.isComplete.value;
      });
    } catch (error) {
      this.error.value = GatewayError.from(error);
      this.isLoading.value = false;
    } finally {
      this.#isReading = false;
    }
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushedAt = performance.now();
    const merged = merge(this.rows.peek(), this.#pending, this.filter, this.#holds);
    this.#pending = merged.waiting;
    batch(() => {
      this.rows.value = merged.rows;
      this.waiting.value = merged.waiting.size;
    });
  }
}

/** Known calls change in place; new ones go on top, or wait. */
export function merge(
  rows: readonly CallRow[],
  changes: ReadonlyMap<string, CallRow>,
  filter: CallFilter,
  holds: boolean,
): { rows: readonly CallRow[]; waiting: Map<string, CallRow> } {
  const fresh = new Map(changes);
  let next: readonly CallRow[] = rows.map((row) => {
    const change = fresh.get(row.call_id);
    fresh.delete(row.call_id);
    const isOlder = change?.status === 'running' && row.status !== 'running';
    return change === undefined || isOlder ? row : change;
  });
  if (fresh.size < changes.size)
    next = next.filter((row) => !changes.has(row.call_id) || matchesFilter(row, filter));
  const added = [...fresh.values()].filter((row) => matchesFilter(row, filter));
  if (holds) return { rows: next, waiting: new Map(added.map((row) => [row.call_id, row])) };
  added.sort((a, b) => (a.at < b.at ? 1 : -1));
  return { rows: [...added, ...next].slice(0, MAX_ROWS), waiting: new Map() };
}
