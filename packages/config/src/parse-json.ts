// JSON, read strictly: no key twice, none that would reach a prototype, nested within a bound.
// `JSON.parse` gives the value; where each entry stands is found by a second look at its tokens,
// which relies on the first having accepted the text.

import type { KeyPath } from './key-path.ts';
import { type Position, type Source, SourceNotes } from './source.ts';

const MAX_DEPTH = 100;
const STRICT = 'write strict JSON: double quotes, no comments, no trailing comma';
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,:{}[\]"]+|[{}[\]]/g;

export function parseJson(text: string, file: string): Source {
  const notes = new SourceNotes(text, file);
  const { positions, problems } = notes;
  if (text.trim() === '') return { value: undefined, positions, problems };
  try {
    const value: unknown = JSON.parse(text);
    notePlaces(text, notes);
    return { value, positions, problems };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const offset = Number(/position (\d+)/.exec(error.message)?.[1] ?? text.length);
    notes.refuse([], notes.at(offset), 'not valid JSON', STRICT);
    return { value: undefined, positions, problems };
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

function notePlaces(text: string, notes: SourceNotes): void {
  const open: Open[] = [];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const place = notes.at(index);
    const within = open.at(-1);
    if (open.length > MAX_DEPTH) return;
    if (token === '}' || token === ']') open.pop();
    else if (within?.names && within.entry === undefined) {
      noteName(within, within.names, JSON.parse(token), place, notes);
    } else noteValue(token, open, place, notes);
  }
}

function noteName(
  map: Open,
  names: Set<string>,
  name: string,
  place: Position,
  notes: SourceNotes,
): void {
  map.entry = { name, place };
  const path = [...map.path, name];
  if (names.has(name)) notes.refuseSecond(path, place);
  notes.allows(path, place);
  names.add(name);
}

function noteValue(token: string, open: Open[], place: Position, notes: SourceNotes): void {
  const within = open.at(-1);
  const path = within ? [...within.path, within.entry?.name ?? within.length] : [];
  notes.place(path, within?.entry?.place ?? place, place);
  if (within) {
    within.entry = undefined;
    within.length += 1;
  }
  if (token !== '{' && token !== '[') return;
  if (open.length === MAX_DEPTH) {
    notes.refuse(path, place, 'nested too deeply', `keep to ${MAX_DEPTH} levels`);
  }
  open.push({ path, length: 0, ...(token === '{' && { names: new Set<string>() }) });
}

const STRING_OR_COMMENT = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const STRING_OR_COMMA = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"|,(?=\s*[}\]])/g;

/** What must go becomes spaces, so that every place stays where it is. */
export function parseJsonc(text: string, file: string): Source {
  const bare = text
    .replace(STRING_OR_COMMENT, (found) => (found.startsWith('"') ? found : blank(found)))
    .replace(STRING_OR_COMMA, (found) => (found.startsWith('"') ? found : ' '));
  return parseJson(bare, file);
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}
