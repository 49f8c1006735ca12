// A partition as texts of bounded length: however much it holds, it is never one string, nor made in
// one turn of the event loop. A text is lines of JSON: first the record with its lists empty, then a
// line for each item of a list, and further lines for what is left of a long value. (The record with
// its lists filled is a first line too.) A partition that is not there is one empty text.

import type { PartitionRecord } from '../engine/partition.ts';

export interface PartitionPart {
  readonly text: string;
  readonly isLast: boolean;
}

/** Made one by one, as they are asked for, each of about that many bytes at most. */
export function* toParts(
  record: PartitionRecord | undefined,
  bytes: number,
): Generator<PartitionPart, void> {
  let lines: string[] = [];
  let size = 0;
  for (const line of record === undefined ? [] : toLines(record, bytes)) {
    if (lines.length > 0 && size + line.length > bytes) {
      yield { text: lines.join('\n'), isLast: false };
      lines = [];
      size = 0;
    }
    lines.push(line);
    size += line.length;
  }
  yield { text: lines.join('\n'), isLast: true };
}

/** Puts a partition together again. Its parts come in order. */
export class PartitionReader {
  #record: PartitionRecord | undefined;
  #lists: Lists | undefined;
  /** What more of may follow. */
  #value: Value = { json: '' };

  add(text: string): void {
    if (text === '') return;
    for (const line of text.split('\n')) {
      const read = JSON.parse(line);
      if (this.#lists === undefined) this.#begin(read);
      else this.#addItem(this.#lists, read);
    }
  }

  /** What came since the last time; `undefined` when the partition is not there. */
  take(): PartitionRecord | undefined {
    const record = this.#record;
    this.#record = undefined;
    this.#lists = undefined;
    return record;
  }

  #begin(record: PartitionRecord): void {
    this.#record = record;
    this.#lists = listsOf(record) as Lists;
  }

  #addItem(lists: Lists, [name, item]: Line): void {
    if (name === 'more') {
      this.#value.json += item;
      return;
    }
    lists[name].push(item);
    if (name === 'entries') this.#value = item[1];
    if (name === 'events') this.#value = item;
  }
}

interface Value {
  json: string;
}

type ListName = keyof ReturnType<typeof listsOf>;
type Lists = Record<ListName, unknown[]>;

type Line =
  | readonly ['entries', readonly [key: string, Value]]
  | readonly ['events', Value]
  | readonly [Exclude<ListName, 'entries' | 'events'>, unknown]
  | readonly ['more', string];

function listsOf({ entries, events, answers, locks }: PartitionRecord) {
  const { leases, places, marks } = locks;
  return { entries, events, answers, leases, places, marks };
}

function* toLines(record: PartitionRecord, bytes: number): Generator<string, void> {
  const locks = { leases: [], places: [], marks: [] };
  yield JSON.stringify({ ...record, entries: [], events: [], answers: [], locks });
  for (const line of toItems(record, bytes)) yield JSON.stringify(line);
}

function* toItems(record: PartitionRecord, bytes: number): Generator<Line, void> {
  const { entries, events, ...others } = listsOf(record);
  for (const [key, entry] of entries) {
    yield ['entries', [key, toFirstPart(entry, bytes)]];
    yield* toFurtherParts(entry, bytes);
  }
  for (const event of events) {
    yield ['events', toFirstPart(event, bytes)];
    yield* toFurtherParts(event, bytes);
  }
  for (const name of Object.keys(others) as (keyof typeof others)[]) {
    for (const item of others[name]) yield [name, item];
  }
}

function toFirstPart<Some extends Readonly<Value>>(value: Some, bytes: number): Some {
  return value.json.length > bytes ? { ...value, json: value.json.slice(0, bytes) } : value;
}

function* toFurtherParts({ json }: Readonly<Value>, bytes: number): Generator<Line, void> {
  for (let from = bytes; from < json.length; from += bytes) {
    yield ['more', json.slice(from, from + bytes)];
  }
}
