// YAML 1.2 core, read strictly: one document, no custom tags, no merge keys, no key twice, and a
// bound on what aliases may multiply.

import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type ParsedNode,
  parseDocument,
} from 'yaml';
import type { KeyPath } from './key-path.ts';
import type { Complaint } from './secret.ts';
import { type Position, type Source, SourceNotes } from './source.ts';

const MAX_DEPTH = 100;
const MAX_ALIASED_NODES = 10_000;

export function parseYaml(text: string, file: string): Source {
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    merge: false,
    uniqueKeys: false,
    resolveKnownTags: false,
    prettyErrors: false,
  });
  const notes = new SourceNotes(text, file);
  const { positions, problems } = notes;
  noteSyntax(document, notes);
  const { contents } = document;
  if (problems.length > 0 || !contents) return { value: undefined, positions, problems };
  const value = new YamlConversion(notes).run(contents);
  return { value, positions, problems };
}

/** The first problem of each line. */
function noteSyntax({ errors, warnings, directives }: Document.Parsed, notes: SourceNotes): void {
  const lines = new Set<number>();
  const all = [...errors, ...warnings].toSorted((one, other) => one.pos[0] - other.pos[0]);
  for (const { pos, code } of all) {
    const place = notes.at(pos[0]);
    const { message, fix } = WORDS[code] ?? FALLBACK;
    if (!lines.has(place.line)) notes.refuse([], place, message, fix);
    lines.add(place.line);
  }
  const { yaml } = directives;
  if (all.length > 0 || !yaml.explicit || yaml.version === '1.2') return;
  notes.refuse([], notes.at(0), OTHER_DIRECTIVE.message, OTHER_DIRECTIVE.fix);
}

/** Turns the tree of nodes into plain values, and notes where each entry stands. */
class YamlConversion {
  readonly #notes: SourceNotes;
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #aliased = 0;

  constructor(notes: SourceNotes) {
    this.#notes = notes;
  }

  run(contents: ParsedNode): unknown {
    this.#notes.place([], this.#place(contents));
    return this.#convert(contents, [], false);
  }

  #convert(node: Node, path: KeyPath, aliased: boolean): unknown {
    if (isAlias(node)) return this.#convertAlias(node, path);
    if (aliased && ++this.#aliased > MAX_ALIASED_NODES) {
      if (this.#aliased > MAX_ALIASED_NODES + 1) return undefined;
      return this.#refuse(node, path, 'aliases repeat too much', 'write the values out');
    }
    if ('anchor' in node && typeof node.anchor === 'string') this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return node.value;
    if (path.length >= MAX_DEPTH) {
      return this.#refuse(node, path, 'nested too deeply', `keep to ${MAX_DEPTH} levels`);
    }
    this.#open.add(node);
    const value = this.#convertCollection(node, path, aliased);
    this.#open.delete(node);
    return value;
  }

  #convertAlias(node: Node & { source: string }, path: KeyPath): unknown {
    const target = this.#anchors.get(node.source);
    if (target === undefined) {
      return this.#refuse(node, path, 'an alias to nothing', 'define the anchor before its use');
    }
    if (this.#open.has(target)) {
      return this.#refuse(node, path, 'an alias to itself', 'write the value out');
    }
    return this.#convert(target, path, true);
  }

  #convertCollection(node: Node, path: KeyPath, aliased: boolean): unknown {
    if (isSeq<Node>(node)) {
      return node.items.map((item, index) => {
        this.#notes.place([...path, index], this.#place(item));
        return this.#convert(item, [...path, index], aliased);
      });
    }
    const map: Record<string, unknown> = {};
    if (!isMap<Node, Node | null>(node)) return map;
    for (const { key, value } of node.items) {
      const name = this.#nameOf(key, path);
      if (name === undefined) continue;
      const entry = [...path, name];
      const place = this.#place(key);
      if (Object.hasOwn(map, name)) {
        this.#notes.refuseSecond(entry, place);
        continue;
      }
      this.#notes.place(entry, place, value ? this.#place(value) : place);
      map[name] = value === null ? null : this.#convert(value, entry, aliased);
    }
    return map;
  }

  #nameOf(key: Node, path: KeyPath): string | undefined {
    const node = isAlias(key) ? this.#anchors.get(key.source) : key;
    if (!isScalar(node)) {
      this.#refuse(key, path, 'a key must be a word', 'write "key: value"');
      return undefined;
    }
    const name = typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
    if (!this.#notes.allows([...path, name], this.#place(key))) return undefined;
    if (name === '<<' && node.type === 'PLAIN') {
      this.#refuse(key, [...path, name], 'merge keys are not read', 'write the keys out');
      return undefined;
    }
    return name;
  }

  #refuse(node: Node, path: KeyPath, message: string, fix: string): undefined {
    this.#notes.refuse(path, this.#place(node), message, fix);
  }

  #place(node: Node): Position {
    return this.#notes.at(node.range?.[0] ?? 0);
  }
}

const FALLBACK: Complaint = {
  message: 'not valid YAML here',
  fix: 'check indentation, brackets and quotes of this line and the one before',
};

const OTHER_DIRECTIVE: Complaint = {
  message: 'this directive is not read',
  fix: 'remove the line; YAML 1.2 is read',
};

/** Syntax errors in our words: the parser's own text may quote the file. */
const WORDS: Partial<Record<ErrorCode, Complaint>> = {
  TAB_AS_INDENT: { message: 'a tab is used as indentation', fix: 'indent with spaces' },
  BAD_INDENT: {
    message: 'bad indentation, or a bracket that is not closed',
    fix: 'align the line with its neighbours, and close every bracket',
  },
  MISSING_CHAR: {
    message: 'a ":", a quote or a bracket is missing',
    fix: 'write "key: value", and close every quote and bracket',
  },
  BLOCK_AS_IMPLICIT_KEY: {
    message: 'two entries on one line, or a line indented too far',
    fix: 'put each entry on its own line, equally indented; quote a value that contains ": "',
  },
  MULTILINE_IMPLICIT_KEY: {
    message: 'expected "key: value"',
    fix: 'add the ":" after the key, or align the line with its neighbours',
  },
  BAD_SCALAR_START: {
    message: 'the value starts with a reserved character',
    fix: 'put the value in quotes',
  },
  BAD_DQ_ESCAPE: {
    message: 'unknown escape in a double-quoted text',
    fix: 'use single quotes, or double the backslash',
  },
  MULTIPLE_DOCS: {
    message: 'a second document begins here',
    fix: 'keep one document: remove the "---" or "..." line and what follows',
  },
  TAG_RESOLVE_FAILED: { message: 'tags are not read', fix: 'remove the tag (the word after "!")' },
  BAD_DIRECTIVE: OTHER_DIRECTIVE,
  RESOURCE_EXHAUSTION: { message: 'nested too deeply', fix: 'nest less deeply' },
  KEY_OVER_1024_CHARS: {
    message: 'a key of more than 1024 characters',
    fix: 'check for a missing quote',
  },
};
