// Functions of a language that marks blocks by indentation: one lasts until a line that stands as
// far left as its head, or further.

import type { FoundFunction } from './find-functions.ts';
import type { Language } from './language.ts';

interface OpenFunction {
  readonly name: string;
  readonly firstLine: number;
  readonly indent: number;
  lastLine: number;
  deepest: number;
}

const INDENT_WIDTH = 4;

export function findByIndent(masked: string, { functions }: Language): FoundFunction[] {
  const found: FoundFunction[] = [];
  const open: OpenFunction[] = [];
  const closeFrom = (indent: number) => {
    for (let last = open.at(-1); last && last.indent >= indent; last = open.at(-1)) {
      open.pop();
      found.push(toFound(last));
      include(open.at(-1), last.lastLine, last.deepest);
    }
  };
  let opensBlock = false;
  for (const [line, text] of masked.split('\n').entries()) {
    const indent = text.search(/\S/);
    if (indent === -1) continue;
    if (!CONTINUES.test(text)) closeFrom(indent);
    include(open.at(-1), line, opensBlock ? indent : 0);
    const name = functions.map((pattern) => pattern.exec(text)?.[1]).find(Boolean);
    if (name) open.push({ name, firstLine: line, indent, lastLine: line, deepest: indent });
    opensBlock = text.trimEnd().endsWith(':');
  }
  closeFrom(0);
  return found;
}

/** A closing bracket ends a statement of the lines above, however far left it stands. */
const CONTINUES = /^\s*[)\]}]/;

function include(outer: OpenFunction | undefined, line: number, indent: number): void {
  if (outer === undefined) return;
  outer.lastLine = Math.max(outer.lastLine, line);
  outer.deepest = Math.max(outer.deepest, indent);
}

function toFound({ name, firstLine, lastLine, indent, deepest }: OpenFunction): FoundFunction {
  const depth = Math.max(0, Math.ceil((deepest - indent) / INDENT_WIDTH) - 1);
  return { name, firstLine, lastLine, depth };
}
