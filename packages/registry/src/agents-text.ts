// Edits the text of `agents.yaml`: one entry is added, replaced or removed, and every other byte,
// comments and blank lines included, stays. The library's own writer would move comments between entries.

import { isDeepStrictEqual } from 'node:util';
import {
  capabilitySchema,
  type Manifest,
  type ManifestInput,
  manifestSchema,
} from '@starloom/core';
import {
  Document,
  isAlias,
  isMap,
  isSeq,
  type Node,
  parseDocument,
  visit,
  type YAMLSeq,
} from 'yaml';
import type { RemovedEntry } from './agents-file.ts';

export function putManifest(text: string, manifest: Manifest): string {
  const { document, list } = parseList(text);
  return applyEdit(text, findEdit(list, document, text, manifest));
}

/**
 * Without the entry of the agent on this node, or without a node all its entries. The same text when
 * there is none. A comment line right above an entry goes with it.
 */
export function removeManifest(text: string, { agentId, nodeId }: RemovedEntry): string {
  const { document, list } = parseList(text);
  const index = list.items.findIndex((item) => {
    const key = keyOf(item, document);
    return key.agentId === agentId && (nodeId === undefined || key.nodeId === nodeId);
  });
  const item = list.items[index];
  if (!item) return text;
  const left = applyEdit(text, findRemoval(list, text, item, index));
  return nodeId === undefined ? removeManifest(left, { agentId }) : left;
}

function parseList(text: string): { document: Document; list: YAMLSeq<Node> } {
  const document = parseDocument(text, { version: '1.2', schema: 'core', merge: false });
  if (!isSeq<Node>(document.contents)) throw new TypeError('not a list');
  return { document, list: document.contents };
}

function applyEdit(text: string, { from, to, entry }: Edit): string {
  const inserted = entry.replaceAll('\n', text.includes('\r\n') ? '\r\n' : '\n');
  return text.slice(0, from) + inserted + text.slice(to);
}

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly entry: string;
}

function findEdit(list: YAMLSeq<Node>, document: Document, text: string, manifest: Manifest): Edit {
  const same = list.items.find((item) => {
    const { agentId, nodeId } = keyOf(item, document);
    return agentId === manifest.agent_id && nodeId === manifest.node_id;
  });
  const last = list.items.at(-1);
  if (!last) {
    const [from, to] = rangeOf(list);
    return { from, to, entry: `- ${toBlock(manifest, '  ')}` };
  }
  if (same) {
    const [from, to] = rangeOf(same);
    if (list.flow) return { from, to, entry: JSON.stringify(toManifestEntry(manifest)) };
    const end = text.slice(from, to).endsWith('\n') ? '\n' : '';
    return { from, to, entry: toBlock(manifest, ' '.repeat(columnOf(text, from))) + end };
  }
  const [start, valueEnd, nodeEnd] = rangeOf(last);
  if (list.flow) {
    const entry = `, ${JSON.stringify(toManifestEntry(manifest))}`;
    return { from: valueEnd, to: valueEnd, entry };
  }
  const indent = ' '.repeat(columnOf(text, rangeOf(list)[0]));
  const begin = text.slice(start, nodeEnd).endsWith('\n') ? '' : '\n';
  const entry = `${begin}${indent}- ${toBlock(manifest, `${indent}  `)}\n`;
  return { from: nodeEnd, to: nodeEnd, entry };
}

function findRemoval(list: YAMLSeq<Node>, text: string, item: Node, index: number): Edit {
  const [start, end] = rangeOf(item);
  if (list.flow) {
    const next = list.items[index + 1];
    const before = list.items[index - 1];
    if (next) return { from: start, to: rangeOf(next)[0], entry: '' };
    return { from: before ? rangeOf(before)[1] : start, to: end, entry: '' };
  }
  const dash = text.lastIndexOf('-', start - 1);
  const from = commentStart(text, text.lastIndexOf('\n', dash) + 1);
  const lineEnd = text.slice(start, end).endsWith('\n') ? end : text.indexOf('\n', end) + 1;
  const to = lineEnd === 0 ? text.length : lineEnd;
  return { from, to, entry: list.items.length === 1 ? '[]\n' : '' };
}

/** Where the comment lines begin that stand right above the line at `lineStart`. */
function commentStart(text: string, lineStart: number): number {
  if (lineStart === 0) return 0;
  const above = text.lastIndexOf('\n', lineStart - 2) + 1;
  const isComment = /^ *#/.test(text.slice(above, lineStart));
  // What opens the file is about the file.
  return isComment && above > 0 ? commentStart(text, above) : lineStart;
}

/** What needs no quotes wherever it stands; the library quotes words such as `true` itself. */
const PLAIN_TEXT = /^[A-Za-z][\w./-]*(?: [\w./-]+)*$/;

const STYLE = {
  lineWidth: 0,
  doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
  flowCollectionPadding: false,
} as const;

function keyOf(item: Node, document: Document): { agentId: unknown; nodeId: unknown } {
  const node = isAlias(item) ? item.resolve(document) : item;
  if (!isMap(node)) return { agentId: undefined, nodeId: undefined };
  return { agentId: node.get('agent_id'), nodeId: node.get('node_id') ?? 'local' };
}

/** As lines of which all but the first begin with `indent`, without the last line break. */
function toBlock(manifest: Manifest, indent: string): string {
  const document = new Document(toManifestEntry(manifest), { aliasDuplicateObjects: false });
  visit(document, {
    Seq: (_, list) => {
      list.flow = list.items.every((item) => !isMap(item) && !isSeq(item));
    },
    Scalar: (_, scalar) => {
      if (typeof scalar.value !== 'string') return;
      scalar.type = PLAIN_TEXT.test(scalar.value) ? 'PLAIN' : 'QUOTE_DOUBLE';
    },
  });
  return document.toString(STYLE).trimEnd().replaceAll('\n', `\n${indent}`);
}

function columnOf(text: string, at: number): number {
  return at - (text.lastIndexOf('\n', at - 1) + 1);
}

function rangeOf(node: Node): [number, number, number] {
  return node.range ?? [0, 0, 0];
}

/** A manifest as people write it: without what it has by default anyway. */
export function toManifestEntry(manifest: Manifest): ManifestInput {
  const capabilities = manifest.capabilities?.map((capability) =>
    withoutDefaults(capability, (rest) => capabilitySchema.safeParse(rest).data),
  );
  const entry = withoutDefaults(manifest, (rest) => manifestSchema.safeParse(rest).data);
  return capabilities === undefined ? entry : { ...entry, capabilities };
}

function withoutDefaults<Value extends object>(
  value: Value,
  parse: (rest: object) => Partial<Value> | undefined,
): Value {
  const isGiven = ([key, own]: [string, unknown]) => {
    const { [key as keyof Value]: _, ...rest } = value;
    const implied = parse(rest)?.[key as keyof Value];
    return implied === undefined || !isDeepStrictEqual(implied, own);
  };
  return Object.fromEntries(Object.entries(value).filter(isGiven)) as Value;
}
