import { parse, TomlError } from 'smol-toml';
import { type KeyPath, toKey } from './key-path.ts';
import { type Position, type Source, SourceNotes } from './source.ts';

const MAX_DEPTH = 100;

export function parseToml(text: string, file: string): Source {
  const notes = new SourceNotes(text, file);
  const { positions, problems } = notes;
  try {
    const parsed = parse(text, { maxDepth: MAX_DEPTH });
    new TomlPlaces(text, notes).find();
    const value = toPlain(parsed, [], notes);
    return { value: Object.keys(parsed).length === 0 ? undefined : value, positions, problems };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The first line of the message is fixed text; the lines below it quote the file.
    const [first = ''] = error.message.split('\n');
    const message = `not valid TOML: ${first.replace(/^Invalid TOML document: /, '')}`;
    const { line, column } = error;
    notes.refuse([], { line, column }, message, 'check the quotes, brackets and "=" of this line');
    return { value: undefined, positions, problems };
  }
}

function toPlain(value: unknown, path: KeyPath, notes: SourceNotes): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => toPlain(item, [...path, index], notes));
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const plain: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const entry = [...path, key];
    const place = notes.positions.get(toKey(entry))?.key;
    if (notes.allows(entry, place)) plain[key] = toPlain(item, entry, notes);
  }
  return plain;
}

const BLANK = /[ \t]*/y;
const VOID = /(?:[ \t\r\n]|#[^\n]*)*/y;
const STRING = /"""(?:\\[\s\S]|[^\\])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*'/y;
const BARE_KEY = /[A-Za-z0-9_-]+/y;
const SCALAR = /[^,\]}#\r\n]*/y;

/**
 * Where each entry stands. smol-toml keeps no positions, so this reads the text once more; it relies on
 * smol-toml having accepted it, and looks at structure only: headers, keys, brackets and quotes.
 */
class TomlPlaces {
  readonly #text: string;
  readonly #notes: SourceNotes;
  /** How many tables each `[[array]]` has so far, by its key. */
  readonly #tables = new Map<string, number>();
  #at = 0;

  constructor(text: string, notes: SourceNotes) {
    this.#text = text;
    this.#notes = notes;
  }

  find(): void {
    let table: KeyPath = [];
    this.#take(VOID);
    while (this.#at < this.#text.length) {
      const start = this.#at;
      if (this.#peek() === '[') table = this.#header();
      else this.#entry(table);
      this.#take(VOID);
      if (this.#at === start) break;
    }
  }

  #header(): KeyPath {
    const place = this.#here();
    const isArray = this.#text.startsWith('[[', this.#at);
    this.#at += isArray ? 2 : 1;
    const names = this.#keyNames();
    this.#at += isArray ? 2 : 1;
    let parent: KeyPath = [];
    for (const name of names.slice(0, -1)) {
      this.#notes.place([...parent, name], place);
      parent = this.#inside(parent, name);
    }
    const path = [...parent, names.at(-1) ?? ''];
    this.#notes.place(path, place);
    if (!isArray) return this.#inside(parent, names.at(-1) ?? '');
    const count = this.#tables.get(toKey(path)) ?? 0;
    this.#tables.set(toKey(path), count + 1);
    this.#notes.place([...path, count], place);
    return [...path, count];
  }

  /** The path of `name` below `path`: its newest table when it is an array of tables. */
  #inside(path: KeyPath, name: string): KeyPath {
    const child = [...path, name];
    const count = this.#tables.get(toKey(child));
    return count === undefined ? child : [...child, count - 1];
  }

  #entry(table: KeyPath): void {
    const place = this.#here();
    const names = this.#keyNames();
    this.#at += 1;
    this.#take(BLANK);
    names.slice(0, -1).forEach((_, index) => {
      this.#notes.place([...table, ...names.slice(0, index + 1)], place);
    });
    const path = [...table, ...names];
    this.#notes.place(path, place, this.#here());
    this.#value(path);
  }

  #value(path: KeyPath): void {
    const open = this.#peek();
    if (open !== '[' && open !== '{') {
      if (!this.#take(STRING)) this.#take(SCALAR);
      return;
    }
    this.#at += 1;
    this.#take(VOID);
    for (let index = 0; this.#at < this.#text.length && !/[\]}]/.test(this.#peek()); index++) {
      if (open === '{') this.#entry(path);
      else {
        this.#notes.place([...path, index], this.#here());
        this.#value([...path, index]);
      }
      this.#take(VOID);
      if (this.#peek() === ',') this.#at += 1;
      this.#take(VOID);
    }
    this.#at += 1;
  }

  /** `a."b.c".d`, up to the `=` or `]` behind it. */
  #keyNames(): string[] {
    const names: string[] = [];
    do {
      if (this.#peek() === '.') this.#at += 1;
      this.#take(BLANK);
      const start = this.#at;
      if (this.#take(STRING)) names.push(unquote(this.#text.slice(start, this.#at)));
      else if (this.#take(BARE_KEY)) names.push(this.#text.slice(start, this.#at));
      this.#take(BLANK);
    } while (this.#peek() === '.');
    return names;
  }

  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return false;
    this.#at += match[0].length;
    return match[0].length > 0;
  }

  #peek(): string {
    return this.#text.charAt(this.#at);
  }

  #here(): Position {
    return this.#notes.at(this.#at);
  }
}

function unquote(quoted: string): string {
  if (quoted.startsWith("'")) return quoted.slice(1, -1);
  const json = quoted.replace(/\\U([0-9A-Fa-f]{8})/g, (_, digits: string) =>
    String.fromCodePoint(Number.parseInt(digits, 16)),
  );
  return JSON.parse(json.replace(/\t/g, '\\t'));
}
