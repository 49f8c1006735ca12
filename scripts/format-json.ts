import type { Json } from '@starloom/core';

const WIDTH = 100;
const STEP = '  ';

/** JSON as the formatter of this repository leaves it: lists of plain values on a line if they fit. */
export function formatJson(value: Json): string {
  return `${format(value, '', 0)}\n`;
}

/** `taken` columns of the first line are in use already. */
function format(value: Json, indent: string, taken: number): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = indent + STEP;
  if (Array.isArray(value)) {
    const line = `[${value.map((item) => JSON.stringify(item)).join(', ')}]`;
    if (value.every(isPlain) && taken + line.length < WIDTH) return line;
    return enclosed(
      '[',
      value.map((item) => inner + format(item, inner, inner.length)),
      indent,
      ']',
    );
  }
  const fields = Object.entries(value).map(([name, field]) => {
    const start = `${inner}${JSON.stringify(name)}: `;
    return start + format(field, inner, start.length);
  });
  return fields.length === 0 ? '{}' : enclosed('{', fields, indent, '}');
}

function enclosed(open: string, lines: readonly string[], indent: string, close: string): string {
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}

function isPlain(value: Json): boolean {
  return typeof value !== 'object' || value === null;
}
