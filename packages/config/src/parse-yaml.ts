// YAML 1.2 core, read strictly: one document, no custom tags, no merge keys, no key twice, and a
// bound on what aliases may multiply. Values never appear in a message.

import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
  type YAMLError,
} from 'yaml';
import { type KeyPath, toKey } from './key-path.ts';
import type { Problem } from './problem.ts';
import { type EntryPosition, FORBIDDEN_KEYS, type Position, type Source } from './source.ts';
import { wordsForYamlError } from './yaml-errors.ts';

const MAX_DEPTH = 100;
const MAX_ALIASED_NODES = 10_000;

export function parseYaml(text: string, file: string): Source {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    merge: false,
    uniqueKeys: false,
    resolveKnownTags: false,
    prettyErrors: false,
    lineCounter: lines,
  });
  const problems = syntaxProblems(document, file, lines);
  if (problems.length > 0) return { value: undefined, positions: new Map(), problems };
  if (document.contents === null || document.contents === undefined) {
    return { value: undefined, positions: new Map(), problems };
  }
  return new YamlConversion(file, lines).run(document.contents);
}

function syntaxProblems(document: Document.Parsed, file: string, lines: LineCounter): Problem[] {
  const problems = new Map<number, Problem>();
  const errors: YAMLError[] = [...document.errors, ...document.warnings];
  for (const error of errors.toSorted((one, other) => one.pos[0] - other.pos[0])) {
    const { line, col } = lines.linePos(error.pos[0]);
    if (problems.has(line)) continue;
    problems.set(line, { file, line, column: col, key: '', ...wordsForYamlError(error.code) });
  }
  const { yaml } = document.directives;
  if (problems.size === 0 && yaml.explicit && yaml.version !== '1.2') {
    const words = wordsForYamlError('BAD_DIRECTIVE');
    return [{ file, line: 1, column: 1, key: '', ...words }];
  }
  return [...problems.values()];
}

/** Turns the tree of nodes into plain values, and remembers where each entry stands. */
class YamlConversion {
  readonly #file: string;
  readonly #lines: LineCounter;
  readonly #positions = new Map<string, EntryPosition>();
  readonly #problems: Problem[] = [];
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #aliased = 0;

  constructor(file: string, lines: LineCounter) {
    this.#file = file;
    this.#lines = lines;
  }

  run(contents: ParsedNode): Source {
    const value = this.#convert(contents, [], false);
    const place = this.#place(contents);
    this.#positions.set('', { key: place, value: place });
    return { value, positions: this.#positions, problems: this.#problems };
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
        const place = this.#place(item);
        this.#positions.set(toKey([...path, index]), { key: place, value: place });
        return this.#convert(item, [...path, index], aliased);
      });
    }
    const map: Record<string, unknown> = {};
    if (!isMap<Node, Node | null>(node)) return map;
    for (const { key, value } of node.items) {
      const name = this.#nameOf(key, path);
      if (name === undefined) continue;
      const entry = [...path, name];
      const first = Object.hasOwn(map, name) ? this.#positions.get(toKey(entry)) : undefined;
      if (first !== undefined) {
        const message = `given twice; first in line ${first.key.line}`;
        this.#refuse(key, entry, message, 'keep one of them');
        continue;
      }
      const place = this.#place(key);
      this.#positions.set(toKey(entry), { key: place, value: value ? this.#place(value) : place });
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
    if (FORBIDDEN_KEYS.has(name)) {
      this.#refuse(key, [...path, name], 'this key is not allowed', 'rename or remove it');
      return undefined;
    }
    if (name === '<<' && node.type === 'PLAIN') {
      this.#refuse(key, [...path, name], 'merge keys are not read', 'write the keys out');
      return undefined;
    }
    return name;
  }

  #refuse(node: Node, path: KeyPath, message: string, fix: string): undefined {
    const place = this.#place(node);
    this.#problems.push({ file: this.#file, ...place, key: toKey(path), message, fix });
  }

  #place(node: Node): Position {
    const { line, col } = this.#lines.linePos(node.range?.[0] ?? 0);
    return { line, column: col };
  }
}
