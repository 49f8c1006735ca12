// Where the targets of a call come from. A target is grounded by what the user typed, by the operator's
// words and settings, by `known_hosts`, and, if it is an object, by an id that an act of this session
// returned, by a record that also holds something the user named, or as an item of the list that the user
// described. Text of the model grounds nothing: it may repeat what it read.

import type { Block, ITool, ToolCall } from '@starloom/sdk';
import { effectOf } from './effect.ts';
import { show } from './hidden-text.ts';
import { matchesPath } from './paths.ts';
import { isKnownHost, type TrustPolicy } from './policy.ts';
import { keyOf, type ResultField } from './records.ts';
import { ADDRESS, singularWords, type Target } from './targets.ts';
import {
  type ForeignText,
  isBest,
  isGiven,
  isItemName,
  isProse,
  NAME_KEY,
  returnedIds,
  toForeign,
  toGiven,
} from './texts.ts';
import { graveWords, nameWords, toolNames, wordSet, wordsOf } from './tool-name.ts';
import { holdsUrl, hostOf, isUrlText, namesUrl } from './urls.ts';
import { normalise, standsIn, Words } from './words.ts';

export interface GroundsOptions {
  readonly blocks: readonly Block[];
  readonly policy: TrustPolicy;
  /** Whose call is judged. */
  readonly tool: ITool;
  /** Folders that complete a relative path. */
  readonly roots: readonly string[];
  /** The model chose its first calls freely: no unvetted description was there to tell it what to do. */
  readonly isFreeAtFirst?: boolean;
  /** Words of the operator for this tool: arguments and settings of its server. */
  readonly constants?: readonly string[];
  readonly toolNamed: (name: string) => ITool | undefined;
}

/** Values of one account; a list of messages has more. */
const MOST_OF_USER = 20;
/** Values that mean the user's own or the usual one, at every server. */
const USUAL = wordSet('primary origin me self mine default current head inbox .');
/** The place of things without one: a user who downloads a file names no folder. */
const SCRATCH =
  /^(?:~|\/home\/[^/]+|\/root)?\/?(?:downloads?|tmp|temp)(?:\/([^/]+)(?!.*\.\.).*)?$/i;
/** Tools that tell of the user: their address, their account. */
const OF_USER =
  /(?:^|_)(?:whoami|iban|(?:my|own|current|user)_(?:profile|account|user|info|information|details|address|email|iban)|profile|me)$/;
const DOCUMENT_KEY = /(?:path|file|filename|url|uri|title|name|subject)$/i;
const PAGES =
  /https?:\/\/|\b(?:links?|urls?|web ?sites?|web ?pages?|pages?|sites?|articles?|blogs?|posts?|homepages?)\b/i;

export class Grounds {
  readonly foreign: readonly ForeignText[];
  readonly #options: GroundsOptions;
  /** Words of the user and of the operator. */
  readonly #given: readonly Words[];
  /** Words of the user alone: the operator's may be examples. */
  readonly #asked: readonly Words[];
  #folders: readonly string[] | undefined;

  constructor(options: GroundsOptions) {
    this.#options = options;
    const { blocks } = options;
    const given = blocks.filter(isGiven).map(toGiven);
    const foreign = blocks.filter(({ trust }) => trust === 'untrusted').map(toForeign);
    this.foreign = [...foreign, ...given.flatMap(({ pasted }) => pasted ?? [])];
    this.#given = given.map(({ words }) => words);
    this.#asked = given.filter(({ isUser }) => isUser).map(({ words }) => words);
  }

  isGrounded(target: Target): boolean {
    const { kind, value } = target;
    const isSum = (words: Words) => words.hasNumber(Number(value));
    if (kind === 'amount') return this.#given.some(isSum) || this.#isInNamedRecord(target);
    if (this.#isNamed(target) || this.#isOfOperator(value) || this.#isOfUser(value)) return true;
    if (this.#isUsedFreely(target)) return true;
    if (kind === 'destination') return this.#isKnownHost(value) || this.#isChosen(target);
    return this.#isReturned(value) || this.#isInNamedRecord(target) || this.#isChosen(target);
  }

  /** The user asked for the kind of act, where its kind is grave. */
  asksForKind(): boolean {
    const words = graveWords(this.#options.tool);
    return words === undefined || this.#asked.some((text) => words.some((one) => text.asksTo(one)));
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
    return this.foreign.some(({ text }) => holdsUrl(text, url));
  }

  /** The user typed one of the names: of each group of words that mean the same, one. */
  namesTool(): boolean {
    return this.#asked.some((words) =>
      toolNames(this.#options.tool).some((name) =>
        name.every((group) => group.some((word) => words.hasForm(word))),
      ),
    );
  }

  /** Of the foreign text that holds the value; `undefined` when none does. */
  originOf(value: string): ForeignText | undefined {
    const wanted = value.toLowerCase();
    return this.foreign.find(({ lower }) => lower.includes(wanted));
  }

  /** The document that a text is, as a person knows it: `notes.txt (fs:read_file)`. */
  titleOf({ callId, via, source }: ForeignText): string {
    const calls = this.#options.blocks.flatMap(({ segments }) => segments);
    const call = calls.find(({ toolCall }) => callId && toolCall?.id === callId)?.toolCall;
    const words = Object.entries(Object(call?.args)).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
    );
    const found = words.find(([key]) => DOCUMENT_KEY.test(key)) ?? words[0];
    return found ? `${show(found[1])} (${show(via ?? source)})` : show(source);
  }

  /** What a person calls the thing with this id. */
  nameOf(value: string): string | undefined {
    const records = this.foreign.flatMap(({ index }) => index.get(keyOf(value)) ?? []);
    const fields = records.flat().filter((one) => NAME_KEY.test(one.key) && !isProse(one));
    return fields.find((one) => keyOf(one.value) !== keyOf(value))?.value;
  }

  /** What the user typed, message by message. */
  get userWords(): readonly string[] {
    return this.#asked.map(({ text }) => text);
  }

  /** The user's words, of which the plan says that it goes by them. */
  isSaid(like: string): boolean {
    return this.#asked.some((words) => words.has(like) || words.hasPart(like));
  }

  /** A result of the tool has a field with this value, which is no prose. */
  isInField(value: string, via: string | undefined): boolean {
    return this.#results(via).some(({ index }) => {
      const held = index.get(keyOf(value))?.flat() ?? [];
      return held.some((field) => keyOf(field.value) === keyOf(value) && !isProse(field));
    });
  }

  /** The value stands in this field of a result of the tool, or in a result that has no fields. */
  isInText(
    value: string,
    { via, field }: { via?: string | undefined; field?: string | undefined },
  ): boolean {
    const wanted = normalise(value);
    const key = field
      ?.toLowerCase()
      .split(/[.[\]\d]+/)
      .filter((part) => part !== '')
      .at(-1);
    return this.#results(via).some(({ text, index }) => {
      if (isUrlText(value)) return holdsUrl(normalise(text), wanted);
      if (index.size === 0) {
        const isNumber = /^\d+(?:\.\d+)?$/.test(wanted);
        const words = normalise(text);
        return standsIn(words, wanted) || (isNumber && new Words(text).hasNumber(Number(value)));
      }
      const fields = [...index.values()].flat(2).filter((one) => one.key === key);
      return fields.some((one) => standsIn(normalise(one.value), wanted));
    });
  }

  /** How often the tool ran in this turn. */
  timesDone(name: string): number {
    const { blocks } = this.#options;
    const turn = blocks.slice(blocks.findLastIndex(({ role }) => role === 'user') + 1);
    const results = turn.flatMap(({ segments }) => segments.flatMap((one) => one.toolResult ?? []));
    return results.filter((one) => one.name === name && !one.isError).length;
  }

  /** A value of the record of the person whom the user spoke of. */
  isPerson(value: string, like: string, via: string | undefined): boolean {
    const who = new Words(like);
    return this.#results(via).some(({ index }) =>
      index
        .get(keyOf(value))
        ?.some((fields) =>
          fields.some(
            (one) => !isProse(one) && (who.has(one.value) || new Words(one.value).has(like)),
          ),
        ),
    );
  }

  holdsLink(url: string, via: string): boolean {
    return this.#results(via).some(({ text }) => holdsUrl(normalise(text), normalise(url)));
  }

  #results(via: string | undefined): readonly ForeignText[] {
    return this.foreign.filter(
      (one) => one.via !== undefined && (via === undefined || one.via === via),
    );
  }

  isGiven(text: string): boolean {
    return this.#given.some((words) => words.text.includes(text));
  }

  #isNamed({ argument, value, kind }: Target): boolean {
    const text = value.trim();
    if (isUrlText(text)) return this.isNamedUrl(text);
    if (/^\d{1,4}$/.test(text)) {
      return this.#given.some((words) => words.hasShortNumber(text, wordsOf(argument)));
    }
    const bare = text.replace(/^[#@]/, '');
    return this.#given.some(
      (words) =>
        (kind === 'destination' ? words.hasName(bare) : words.has(bare)) ||
        ((kind === 'object' || /[./\\]/.test(bare)) &&
          matchesPath(words, bare, [...this.#options.roots, ...this.#readFolders()])),
    );
  }

  /** Where files lie that were read because the user named them. */
  #readFolders(): readonly string[] {
    if (this.#folders) return this.#folders;
    const paths = this.#answeredCalls()
      .flatMap(({ args }) => Object.values(Object(args)))
      .filter((one) => typeof one === 'string');
    this.#folders = paths.flatMap((path) => {
      const [, folder = '', file = ''] = /^((?:[~/]|[A-Z]:).*)[\\/]([^\\/]+)$/.exec(path) ?? [];
      const isNamed = this.#asked.some((words) => words.has(file) || words.has(path));
      return isNamed ? folder.replaceAll('\\', '/') : [];
    });
    return this.#folders;
  }

  /** The model used it before anything foreign was read; a destination in an act: to look up is not to send. */
  #isUsedFreely({ value, kind }: Target): boolean {
    const { blocks, isFreeAtFirst } = this.#options;
    if (!isFreeAtFirst) return false;
    const first = blocks.findIndex(
      (one) => one.trust === 'untrusted' || (isGiven(one) && toGiven(one).pasted),
    );
    const free = blocks.slice(0, Math.max(0, first)).filter(({ role }) => role === 'assistant');
    const calls = free.flatMap(({ segments }) => segments.flatMap((one) => one.toolCall ?? []));
    return calls
      .filter((one) => kind !== 'destination' || this.#effectOf(one) !== 'read')
      .some(({ args }) => Object.values(Object(args)).flat().includes(value));
  }

  #isOfOperator(value: string): boolean {
    const { roots, constants = [] } = this.#options;
    const text = value.trim().replace(/(?<=.)\/$/, '');
    const isUsual = USUAL.has(text.toLowerCase()) || this.#isScratch(text);
    return isUsual || roots.includes(text) || constants.includes(text);
  }

  /** The folder for downloads, or below it what an act of this session fetched under that name. */
  #isScratch(path: string): boolean {
    const [whole, name] = SCRATCH.exec(path) ?? [];
    if (whole === undefined || name === undefined) return whole !== undefined;
    const isOfName = (value: unknown) =>
      typeof value === 'string' && /([^/]+)\/?(?:[?#].*)?$/.exec(value)?.[1] === name;
    return this.#answeredCalls().some(
      (one) => this.#effectOf(one) === 'act' && Object.values(Object(one.args)).some(isOfName),
    );
  }

  #effectOf({ name, args }: { readonly name: string; readonly args?: unknown }) {
    const tool = this.#options.toolNamed(name);
    return tool && effectOf(tool, args);
  }

  /** Calls of this session that ran. */
  #answeredCalls(): readonly ToolCall[] {
    const segments = this.#options.blocks.flatMap((block) => block.segments);
    const answered = new Set(
      segments.flatMap(({ toolResult }) =>
        toolResult && !toolResult.isError ? toolResult.id : [],
      ),
    );
    const calls = segments.flatMap(({ toolCall }) => toolCall ?? []);
    return calls.filter(({ id }) => id !== undefined && answered.has(id));
  }

  /** The user's own address or account, from a tool that is about the user. */
  #isOfUser(value: string): boolean {
    const wanted = keyOf(value);
    return this.foreign.some(({ via = '', text, index }) => {
      if (!OF_USER.test(nameWords(via).join('_')) || index.size > MOST_OF_USER) return false;
      const held = index.get(wanted)?.flat() ?? [];
      const isField = held.some((field) => keyOf(field.value) === wanted && !isProse(field));
      return isField || keyOf(text.trim()) === wanted;
    });
  }

  /**
   * An item of a list of its own kind, from the same server: the user said which kind and what to do, and
   * described the item instead of naming one of the list.
   */
  #isChosen({ value, nouns, kind }: Target): boolean {
    const { tool } = this.#options;
    if (ADDRESS.test(value) || isUrlText(value) || kind === 'amount') return false;
    const [[verbs = []] = []] = toolNames(tool);
    const isAsked = (words: Words) =>
      verbs.some((verb) => words.asksTo(verb)) && nouns.some((noun) => words.hasForm(noun));
    if (!this.asksForKind() || !this.#asked.some(isAsked)) return false;
    return this.foreign.some(({ via = '', kinds, index }) => {
      if (familyOf(via) !== familyOf(tool.name) || !nouns.some((one) => kinds.includes(one)))
        return false;
      if (this.#effectOf({ name: via }) !== 'read') return false;
      const names = [...index.values()].flat(2).filter((field) => isItemName(field, nouns));
      const isItem = names.some((one) => keyOf(one.value) === keyOf(value));
      if (!isItem || names.some((one) => this.#asked.some((words) => words.has(one.value))))
        return false;
      return isBest(
        value,
        [...new Set([...index.values()].flat())],
        this.#asked.at(-1)?.text ?? '',
      );
    });
  }

  #isKnownHost(value: string): boolean {
    const isMail = ADDRESS.test(value) && !isUrlText(value);
    const host = isMail ? value.slice(value.lastIndexOf('@') + 1) : hostOf(value);
    return !!host?.includes('.') && isKnownHost(this.#options.policy, host.toLowerCase());
  }

  #isReturned(value: string): boolean {
    const wanted = keyOf(value);
    return this.#options.blocks.some((block) =>
      block.segments.some(({ toolResult }) => {
        const isDone = toolResult && !toolResult.isError && this.#effectOf(toolResult) === 'act';
        return isDone && returnedIds(block).some((id) => keyOf(id) === wanted);
      }),
    );
  }

  /** A short id counts only in a record of its own kind: file 13 is not event 13. */
  #isInNamedRecord({ argument, value, nouns }: Target): boolean {
    const wanted = keyOf(value);
    // `number` says nothing of its kind: "issue 14" does, where an issue was read.
    const isPlainId = wordsOf(argument).length === 1;
    const isShort = /^\d{1,4}$/.test(wanted);
    return this.foreign.some(({ index, kinds }) =>
      index.get(wanted)?.some((fields) => {
        const held = fields.filter((field) => keyOf(field.value) === wanted);
        if (held.every(isProse)) return false;
        const words = [...kinds, ...singularWords(fields.flatMap(({ key }) => wordsOf(key)))];
        if (isShort && this.#asked.some((said) => said.hasShortNumber(wanted, kinds)))
          return isPlainId;
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
      return words.has(value) || words.hasPart(value);
    });
  }
}

function familyOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf(':')));
}
