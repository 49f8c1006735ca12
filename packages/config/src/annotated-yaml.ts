import { Document, isCollection, isPair, type Node, type Scalar } from 'yaml';
import { type KeyPath, toKey } from './key-path.ts';
import { type Origin, showOrigin } from './origins.ts';
import { toReferences } from './secret.ts';

/** A loaded value as YAML, secrets as references; with `origins`, each value says where from. */
export function toAnnotatedYaml(value: unknown, origins?: ReadonlyMap<string, Origin>): string {
  const document = new Document(toReferences(value));
  if (origins !== undefined && document.contents !== null) annotate(document.contents, [], origins);
  return document.toString({ lineWidth: 0 });
}

function annotate(node: Node, path: KeyPath, origins: ReadonlyMap<string, Origin>): void {
  const origin = origins.get(toKey(path));
  if (origin !== undefined) node.comment = ` ${showOrigin(origin)}`;
  if (!isCollection(node)) return;
  for (const [index, item] of node.items.entries()) {
    if (!isPair<Scalar<string>, Node>(item)) annotate(item as Node, [...path, index], origins);
    else if (item.value !== null) annotateEntry(item.key, item.value, path, origins);
  }
}

/** An empty list or map has no line end of its own: its comment stands above the key. */
function annotateEntry(
  key: Scalar<string>,
  value: Node,
  path: KeyPath,
  origins: ReadonlyMap<string, Origin>,
): void {
  annotate(value, [...path, key.value], origins);
  if (!isCollection(value) || value.items.length > 0 || !value.comment) return;
  key.commentBefore = value.comment;
  value.comment = null;
}
