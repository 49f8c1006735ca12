// Where the targets of a call come from. A target is grounded by the user's and the operator's words,
// by `known_hosts`, and, if it is an object, by an id that an act of this session returned or by a
// record that also holds something the user named. Text of the model grounds nothing: it may repeat
// what it read.

import type { Block, ContentSegment, ITool } from '@starloom/sdk';
import { effectOf } from './effect.ts';
import { matchesPath } from './paths.ts';
import { isKnownHost, type TrustPolicy } from './policy.ts';
import { indexOf, keyOf, type RecordIndex, type ResultField, recordsIn } from './records.ts';
import { ADDRESS, singularWords, type Target } from './targets.ts';
import { nameWords, wordsOf } from './tool-name.ts';
import { hostOf, isUrlText, namesUrl } from './urls.ts';
import { standsIn, Words } from './words.ts';

export interface GroundsOptions {
  readonly blocks: readonly Block[];
  readonly policy: TrustPolicy;
  /** Folders that complete a relative path. */
  readonly roots: readonly string[];
  readonly toolNamed: (name: string) => ITool | undefined;
}

/** Words of others, with what was found in them. Blocks do not change, so each is read once. */
export interface ForeignText {
  readonly source: string;
  readonly text: string;
  readonly lower: string;
  readonly index: RecordIndex;
  /** Words of the name of the tool. */
  readonly kinds: readonly string[];
}

const LONGEST_NAME = 120;
const ID_KEY =
  /(?:^|[_-])(?:id|ids|uid|uuid|key|number|no|ref|reference|sha|path|slug)_?$|[a-z]Id$/;
const TEXT_KEY = /(?:body|content|text|message|comment|snippet|html|review)$/;
const NAME_KEY = /(?:^|_)(?:name|title|subject|summary|label|filename|file)$/;
const foreignTexts = new WeakMap<Block, ForeignText>();
const givenWords = new WeakMap<Block, Words>();

const PAGES =
  /https?:\/\/|\b(?:links?|urls?|web ?sites?|web ?pages?|pages?|sites?|articles?|blogs?|posts?|homepages?)\b/i;

export class Grounds {
  readonly foreign: readonly ForeignText[];
  readonly #options: GroundsOptions;
  readonly #given: readonly Words[];

  constructor(options: GroundsOptions) {
    this.#options = options;
    const { blocks } = options;
    this.foreign = blocks.filter(({ trust }) => trust === 'untrusted').map(toForeign);
    this.#given = blocks.filter(isGiven).map(toWords);
  }

  isGrounded(target: Target): boolean {
    const { kind, value } = target;
    if (kind === 'amount') return this.#hasNumber(value) || this.#isInNamedRecord(target);
    if (this.#isNamed(target)) return true;
    if (kind === 'destination') return this.#isKnownHost(value);
    return this.#isReturned(value) || this.#isInNamedRecord(target);
  }

  /** The user or the operator wrote the URL, or one above it on the same host. */
  isNamedUrl(url: string): boolean {
    return this.#isKnownHost(url) || this.#given.some(({ text }) => namesUrl(text, url));
  }

  /** Does the user speak of pages that a text may lead to? */
  asksForPages(): boolean {
    return this.#given.some(({ text }) => PAGES.test(text));
  }

  /** A result holds exactly this URL. */
  isReadUrl(url: string): boolean {
    return this.foreign.some(({ text }) => standsIn(text, url.trim()));
  }

  /** The user typed one of the names: of each group of words that mean the same, one. */
  namesTool(names: readonly (readonly (readonly string[])[])[]): boolean {
    return this.#given.some((words) =>
      names.some((name) => name.every((group) => group.some((word) => words.hasForm(word)))),
    );
  }

  /** Of the foreign text that holds the value; `undefined` when none does. */
  originOf(value: string): ForeignText | undefined {
    const wanted = value.toLowerCase();
    return this.foreign.find(({ lower }) => lower.includes(wanted));
  }

  isGiven(text: string): boolean {
    return this.#given.some((words) => words.text.includes(text));
  }

  #isNamed({ argument, value }: Target): boolean {
    const text = value.trim();
    if (isUrlText(text)) return this.isNamedUrl(text);
    if (/^\d{1,4}$/.test(text)) {
      return this.#given.some((words) => words.hasShortNumber(text, wordsOf(argument)));
    }
    const bare = text.replace(/^[#@]/, '');
    return this.#given.some(
      (words) => words.has(bare) || matchesPath(words, bare, this.#options.roots),
    );
  }

  #hasNumber(value: string): boolean {
    return this.#given.some((words) => words.hasNumber(Number(value)));
  }

  #isKnownHost(value: string): boolean {
    const host = ADDRESS.test(value) ? value.slice(value.lastIndexOf('@') + 1) : hostOf(value);
    return !!host?.includes('.') && isKnownHost(this.#options.policy, host.toLowerCase());
  }

  #isReturned(value: string): boolean {
    const wanted = keyOf(value);
    return this.#options.blocks.some((block) =>
      block.segments.some(({ toolResult }) => {
        if (!toolResult || toolResult.isError) return false;
        const tool = this.#options.toolNamed(toolResult.name);
        if (!tool || effectOf(tool) !== 'act') return false;
        return returnedIds(block).some((id) => keyOf(id) === wanted);
      }),
    );
  }

  /** A short id counts only in a record of its own kind: file 13 is not event 13. */
  #isInNamedRecord({ value, nouns }: Target): boolean {
    const wanted = keyOf(value);
    const isShort = /^\d{1,4}$/.test(wanted);
    return this.foreign.some(({ index, kinds }) =>
      index.get(wanted)?.some((fields) => {
        const held = fields.filter((field) => keyOf(field.value) === wanted);
        if (held.every(isProse)) return false;
        const words = [...kinds, ...singularWords(fields.flatMap(({ key }) => wordsOf(key)))];
        if (isShort && !nouns.some((noun) => words.includes(noun))) return false;
        return fields.some((field) => !held.includes(field) && this.#isNamedField(field));
      }),
    );
  }

  /** The user wrote the value, or two words of it together; a plain word counts in a name alone. */
  #isNamedField(field: ResultField): boolean {
    if (isProse(field)) return false;
    const { key, value } = field;
    const isPlain = /^\p{L}+$|^\d{1,4}$/u.test(value.trim());
    return this.#given.some((words) => {
      if (isPlain) return NAME_KEY.test(key) && words.has(value);
      return words.has(value) || words.hasPair(value);
    });
  }
}

/** Reads a block now, while no verdict waits for it. */
export function readForeign(block: Block): void {
  if (block.trust === 'untrusted') toForeign(block);
}

function isGiven({ type, trust, role }: Block): boolean {
  return type === 'instruction' && trust !== 'untrusted' && (role === 'user' || role === 'system');
}

function isProse({ key, value }: ResultField): boolean {
  return value.length > LONGEST_NAME || TEXT_KEY.test(key);
}

function returnedIds(block: Block): string[] {
  const { index, text } = toForeign(block);
  const fields = [...index.values()].flat(2);
  const ids = fields.filter(({ key }) => ID_KEY.test(key)).map(({ value }) => value);
  const codes =
    text.length <= 200
      ? (text.match(/[\p{L}\p{N}][\p{L}\p{N}_./-]*\d[\p{L}\p{N}_-]*|\d+/gu) ?? [])
      : [];
  return [...ids, ...codes];
}

function toForeign(block: Block): ForeignText {
  const known = foreignTexts.get(block);
  if (known) return known;
  const text = textOf(block);
  const results = block.segments.flatMap(({ toolResult }) => toolResult ?? []);
  const parts = results.flatMap(({ output }) => output.flatMap((part) => part.text ?? []));
  const foreign = {
    source: block.source,
    text,
    lower: text.toLowerCase(),
    index: indexOf(parts.flatMap(recordsIn)),
    kinds: singularWords(results.flatMap(({ name }) => nameWords(name))),
  };
  foreignTexts.set(block, foreign);
  return foreign;
}

function toWords(block: Block): Words {
  const known = givenWords.get(block);
  if (known) return known;
  const words = new Words(textOf(block));
  givenWords.set(block, words);
  return words;
}

const texts = new WeakMap<Block, string>();

/** The words of a block. Its tool calls are left out: they are what is judged, not what led to it. */
function textOf(block: Block): string {
  const known = texts.get(block);
  if (known !== undefined) return known;
  const text = block.segments.flatMap(textsIn).join('\n');
  texts.set(block, text);
  return text;
}

function textsIn(segment: ContentSegment): string[] {
  const words = [segment.text ?? ''];
  if (segment.data && /^https?:/i.test(segment.data)) words.push(segment.data);
  if (segment.ui !== undefined) words.push(JSON.stringify(segment.ui) ?? '');
  if (segment.toolResult) words.push(...segment.toolResult.output.flatMap(textsIn));
  return words.filter((text) => text !== '');
}
