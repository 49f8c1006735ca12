// What stands in the blocks of a context: words that were given (by the user, by the operator), and words of
// others with the records in them. Blocks do not change, so each is read once.

import type { Block, ContentSegment } from '@starloom/sdk';
import {
  indexOf,
  keyOf,
  type RecordIndex,
  type ResultField,
  type ResultRecord,
  recordsIn,
} from './records.ts';
import { singularWords } from './targets.ts';
import { nameWords } from './tool-name.ts';
import { splitMessage, Words } from './words.ts';

/** Words of others, with what was found in them. Blocks do not change, so each is read once. */
export interface ForeignText {
  readonly source: string;
  /** Of the call that it answers. */
  readonly callId?: string | undefined;
  /** Name of the tool that it answers for. */
  readonly via?: string | undefined;
  readonly text: string;
  readonly lower: string;
  readonly index: RecordIndex;
  /** Words of the name of the tool. */
  readonly kinds: readonly string[];
}

export interface GivenText {
  readonly words: Words;
  readonly isUser: boolean;
  readonly pasted?: ForeignText;
}

const LONGEST_NAME = 120;
const ID_KEY =
  /(?:^|[_-])(?:id|ids|uid|uuid|key|number|no|ref|reference|sha|path|slug)_?$|[a-z]Id$/;
const TEXT_KEY = /(?:body|content|text|message|comment|snippet|html|review)$/;
export const NAME_KEY = /(?:^|_)(?:name|title|subject|summary|label|filename|file)$/;
const CODE =
  /^(?:(?:\p{L}+[\s.]+){0,4}(?:id|key|number|ref|reference)\s*[:=#]\s*)?["']?([\p{L}\p{N}][\w./-]*\d[\w-]*)["']?[.!]?$/iu;

export function isGiven({ type, trust, role }: Block): boolean {
  return type === 'instruction' && trust !== 'untrusted' && (role === 'user' || role === 'system');
}

export function isProse({ key, value }: ResultField): boolean {
  return value.length > LONGEST_NAME || TEXT_KEY.test(key);
}

/** Of the one thing that an act made or changed: a list, or words that mention others, are none. */
export function returnedIds(block: Block): string[] {
  const { index, text } = toForeign(block);
  const records = new Set([...index.values()].flat());
  const [only, ...others] = [...records].filter((record) =>
    record.some(({ key }) => ID_KEY.test(key)),
  );
  if (only && others.length === 0) {
    return only.filter(({ key }) => ID_KEY.test(key)).map(({ value }) => value);
  }
  return text.length <= 100 && records.size === 0
    ? (CODE.exec(text.trim())?.slice(1, 2) ?? [])
    : [];
}

/** The key of an item, or its name: `hotel` of a hotel, too. */
export function isItemName(field: ResultField, nouns: readonly string[]): boolean {
  const { key } = field;
  return (
    !isProse(field) && (key === '' || ID_KEY.test(key) || NAME_KEY.test(key) || nouns.includes(key))
  );
}

const AMOUNT = /size|bytes|length|count|members|amount|total|price|cost|fee|lines|views|stars/;
const MOMENT = /date|time|modified|updated|created|received|sent|start|^ts$/;
/** What people pick an item by: the words, the fields that they are about, and which end is meant. */
const ORDERS = [
  [/\b(?:largest|biggest|heaviest|longest|most expensive|dearest|the most)\b/i, AMOUNT, 1],
  [/\b(?:smallest|shortest|cheapest|lowest|the fewest|the least)\b/i, AMOUNT, -1],
  [/\b(?:newest|latest|most recent)\b/i, MOMENT, 1],
  [/\b(?:oldest|earliest)\b/i, MOMENT, -1],
  [/\b(?:best|highest|top) rated\b|\bbest\b/i, /rating|score|stars/, 1],
] as const;

/** Where the user said "the largest" and the list tells sizes, only that item is the one. */
export function isBest(value: string, records: readonly ResultRecord[], said: string): boolean {
  const order = ORDERS.find(([words]) => words.test(said));
  const [, fields, end = 1] = order ?? [];
  const rows = records.flatMap((record) => {
    const by = record.find(({ key }) => fields?.test(key));
    return by ? [{ record, by: by.value }] : [];
  });
  if (rows.length < 2) return true;
  const compare = (one: string, other: string) =>
    (Number(one) - Number(other) || (one < other ? -1 : one > other ? 1 : 0)) * end;
  const best = rows.reduce((top, row) => (compare(row.by, top.by) > 0 ? row : top));
  return best.record.some((field) => keyOf(field.value) === keyOf(value));
}

export const toForeign = once((block): ForeignText => {
  const text = textOf(block);
  const results = block.segments.flatMap(({ toolResult }) => toolResult ?? []);
  const parts = results.flatMap(({ output }) => output.flatMap((part) => part.text ?? []));
  return {
    source: block.source,
    callId: results[0]?.id,
    via: results[0]?.name,
    text,
    lower: text.toLowerCase(),
    index: indexOf(parts.flatMap(recordsIn)),
    kinds: singularWords(results.flatMap(({ name }) => nameWords(name))),
  };
});

export const toGiven = once((block): GivenText => {
  const isUser = block.role === 'user';
  const text = textOf(block);
  const { typed, pasted } = isUser ? splitMessage(text) : { typed: text, pasted: '' };
  return { words: new Words(typed), isUser, ...(pasted && { pasted: toPasted(pasted) }) };
});

function toPasted(text: string): ForeignText {
  const index = indexOf(recordsIn(text.replaceAll(/^```.*$/gm, '')));
  return { source: 'a pasted text', text, lower: text.toLowerCase(), index, kinds: [] };
}

/** The words of a block. Its tool calls are left out: they are what is judged, not what led to it. */
const textOf = once((block): string => block.segments.flatMap(textsIn).join('\n'));

function once<Read>(read: (block: Block) => Read): (block: Block) => Read {
  const known = new WeakMap<Block, Read>();
  return (block) => known.get(block) ?? (known.set(block, read(block)).get(block) as Read);
}

function textsIn(segment: ContentSegment): string[] {
  const words = [segment.text ?? ''];
  if (segment.data && /^https?:/i.test(segment.data)) words.push(segment.data);
  if (segment.ui !== undefined) words.push(JSON.stringify(segment.ui) ?? '');
  if (segment.toolResult) words.push(...segment.toolResult.output.flatMap(textsIn));
  return words.filter((text) => text !== '');
}
