// The records in the result of a tool: objects of JSON, of lines of JSON or of YAML, each with its own
// plain values. Other text has none, so words inside a field never pose as fields of a record.

import { createRequire } from 'node:module';
import { normalise } from './words.ts';

export interface ResultField {
  /** In lower case. */
  readonly key: string;
  readonly value: string;
}

/** A list is one field for each of its values. */
export type ResultRecord = readonly ResultField[];

/** Records by the values in them, so that a decision looks at a few of many. */
export type RecordIndex = ReadonlyMap<string, readonly ResultRecord[]>;

const MOST_CHARACTERS = 131_072;
/** Its parser is slow, and blocks while it reads. */
const MOST_YAML = 32_768;
const MOST_RECORDS = 5000;
const LONGEST_KEY = 200;
const YAML_OPTIONS = { schema: 'failsafe', maxAliasCount: 0, uniqueKeys: false } as const;
const YAML_START = /^(?:-\s+["']?[\w]|["']?[\w][\w .-]{0,60}["']?:(?:\s|$))/;

export function recordsIn(text: string): ResultRecord[] {
  const value = structureOf(text.trim());
  // A list of plain values is a list of records with one field each.
  const plain = (Array.isArray(value) ? value : []).filter((one) => typeof one === 'string');
  const records: ResultRecord[] = plain
    .slice(0, MOST_RECORDS)
    .map((one) => [{ key: '', value: one }]);
  const open: [key: string | undefined, node: unknown][] = [[undefined, value]];
  for (let next = open.pop(); next && records.length < MOST_RECORDS; next = open.pop()) {
    const [key, node] = next;
    if (typeof node !== 'object' || node === null) continue;
    const isList = Array.isArray(node);
    if (!isList) records.push(fieldsOf(key, node));
    for (const [name, member] of Object.entries(node))
      open.push([isList ? undefined : name, member]);
  }
  return records;
}

export function indexOf(records: readonly ResultRecord[]): RecordIndex {
  const index = new Map<string, ResultRecord[]>();
  for (const record of records) {
    for (const { value } of record) {
      if (value.length > LONGEST_KEY) continue;
      const key = keyOf(value);
      const known = index.get(key);
      if (!known) index.set(key, [record]);
      else if (known.at(-1) !== record) known.push(record);
    }
  }
  return index;
}

/** The same for `10`, `10.0` and `10.00`. */
export function keyOf(value: string): string {
  return /^-?\d{1,15}(?:\.\d{1,6})?$/.test(value) ? String(Number(value)) : normalise(value);
}

function structureOf(text: string): unknown {
  const isFlow = /^[[{]/.test(text);
  const isYaml = isFlow || (YAML_START.test(text) && text.includes('\n'));
  const isLines = /^\{.*\}\n\{/.test(text);
  const ways = [
    isLines && (() => text.split('\n').map((line) => JSON.parse(line))),
    isFlow && text.length <= MOST_CHARACTERS && (() => JSON.parse(text)),
    isYaml &&
      text.length <= MOST_YAML &&
      (() => loadYaml().parse(text, { ...YAML_OPTIONS, logLevel: 'error' })),
  ];
  for (const read of ways) {
    try {
      if (read) return read();
    } catch {}
  }
  return undefined;
}

/** Loaded with the first result that needs it: most agents never meet one. */
function loadYaml(): typeof import('yaml') {
  return createRequire(import.meta.url)('yaml');
}

/** Of a table of records the key is a field too. */
function fieldsOf(key: string | undefined, node: object): ResultRecord {
  const own = Object.entries(node).flatMap(([name, member]) => {
    const values: unknown[] = Array.isArray(member) ? member : [member];
    return values
      .filter((value) => ['string', 'number'].includes(typeof value))
      .map((value) => ({ key: name.toLowerCase(), value: String(value) }));
  });
  return key === undefined ? own : [{ key: '', value: key }, ...own];
}
