// JSON, read strictly: no key twice, none that would reach a prototype, nested within a bound.
// `JSON.parse` gives the value; where each entry stands is found by a second look at its tokens,
// which relies on the first having accepted the text. Values never appear in a message.

import { type KeyPath, toKey } from './key-path.ts';
import type { Problem } from './problem.ts';
import { type EntryPosition, FORBIDDEN_KEYS, type Position, type Source } from './source.ts';
import { TextLines } from './text-lines.ts';

const MAX_DEPTH = 100;
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,:{}[\]"]+|[{}[\]]/g;

export function parseJson(text: string, file: string): Source {
  if (text.trim() === '') return { value: undefined, positions: new Map(), problems: [] };
  try {
    const value: unknown = JSON.parse(text);
    return { value, ...new Places(text, file).find() };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { value: undefined, positions: new Map(), problems: [notJson(error, text, file)] };
  }
}

/** A map or list whose end has not come yet. */
interface Open {
  readonly path: KeyPath;
  /** Of a map: the names so far. */
  readonly names?: Set<string>;
  /** Of a map: the entry whose value comes next. */
  entry?: { readonly name: string; readonly place: Position } | undefined;
  /** Of a list. */
  length: number;
}

class Places {
  readonly #text: string;
  readonly #file: string;
  readonly #lines: TextLines;
  readonly #positions = new Map<string, EntryPosition>();
  readonly #problems: Problem[] = [];
  readonly #open: Open[] = [];

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    this.#lines = new TextLines(text);
  }

  find(): Pick<Source, 'positions' | 'problems'> {
    for (const { 0: token, index } of this.#text.matchAll(TOKEN)) {
      if (this.#open.length > MAX_DEPTH) break;
      if (token === '}' || token === ']') this.#open.pop();
      else this.#take(token, this.#lines.at(index));
    }
    return { positions: this.#positions, problems: this.#problems };
  }

  #take(token: string, place: Position): void {
    const within = this.#open.at(-1);
    if (within?.names && within.entry === undefined) this.#name(within, JSON.parse(token), place);
    else this.#value(token, within, place);
  }

  #name(map: Open, name: string, place: Position): void {
    map.entry = { name, place };
    const path = [...map.path, name];
    const first = map.names?.has(name) ? this.#positions.get(toKey(path)) : undefined;
    if (first) {
      this.#refuse(path, place, `given twice; first in line ${first.key.line}`, 'keep one of them');
    }
    if (FORBIDDEN_KEYS.has(name)) {
      this.#refuse(path, place, 'this key is not allowed', 'rename or remove it');
    }
    map.names?.add(name);
  }

  #value(token: string, within: Open | undefined, place: Position): void {
    const path = within ? [...within.path, within.entry?.name ?? within.length] : [];
    const key = toKey(path);
    const entry = { key: within?.entry?.place ?? place, value: place };
    if (!this.#positions.has(key)) this.#positions.set(key, entry);
    if (within) {
      within.entry = undefined;
      within.length += 1;
    }
    if (token !== '{' && token !== '[') return;
    if (this.#open.length === MAX_DEPTH) {
      this.#refuse(path, place, 'nested too deeply', `keep to ${MAX_DEPTH} levels`);
    }
    this.#open.push({ path, length: 0, ...(token === '{' && { names: new Set<string>() }) });
  }

  #refuse(path: KeyPath, place: Position, message: string, fix: string): void {
    this.#problems.push({ file: this.#file, ...place, key: toKey(path), message, fix });
  }
}

function notJson(error: SyntaxError, text: string, file: string): Problem {
  const offset = Number(/position (\d+)/.exec(error.message)?.[1] ?? text.length);
  const fix = 'write strict JSON: double quotes, no comments, no trailing comma';
  return { file, ...new TextLines(text).at(offset), key: '', message: 'not valid JSON', fix };
}
