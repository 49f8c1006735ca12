// Edits the text of `agents.yaml`: one entry is added or replaced, and every other byte, comments
// and blank lines included, stays. The library's own writer would move comments between entries.

import type { Manifest } from '@starloom/core';
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
import { toManifestEntry } from './manifest-entry.ts';

/** `text` must be a list of manifests. */
export function putManifest(text: string, manifest: Manifest): string {
  const document = parseDocument(text, { version: '1.2', schema: 'core', merge: false });
  const list = document.contents;
  if (!isSeq<Node>(list)) throw new TypeError('not a list');
  const edit = findEdit(list, document, text, manifest);
  const entry = edit.entry.replaceAll('\n', text.includes('\r\n') ? '\r\n' : '\n');
  return text.slice(0, edit.from) + entry + text.slice(edit.to);
}

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly entry: string;
}

function findEdit(list: YAMLSeq<Node>, document: Document, text: string, manifest: Manifest): Edit {
  const same = list.items.find((item) => idOf(item, document) === manifest.agent_id);
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
  if (list.flow)
    return {
      from: valueEnd,
      to: valueEnd,
      entry: `, ${JSON.stringify(toManifestEntry(manifest))}`,
    };
  const indent = ' '.repeat(columnOf(text, rangeOf(list)[0]));
  const begin = text.slice(start, nodeEnd).endsWith('\n') ? '' : '\n';
  const entry = `${begin}${indent}- ${toBlock(manifest, `${indent}  `)}\n`;
  return { from: nodeEnd, to: nodeEnd, entry };
}

/** What needs no quotes wherever it stands; the library quotes words such as `true` itself. */
const PLAIN_TEXT = /^[A-Za-z][\w./-]*(?: [\w./-]+)*$/;

/** Each text on one line. */
const STYLE = {
  lineWidth: 0,
  doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
  flowCollectionPadding: false,
} as const;

function idOf(item: Node, document: Document): unknown {
  const node = isAlias(item) ? item.resolve(document) : item;
  return isMap(node) ? node.get('agent_id') : undefined;
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
