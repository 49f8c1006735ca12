// What an operator is shown before an approval: every difference between what was approved and what the
// agent says now, with characters that are not seen written out.

import { toVisible } from '../plain-text.ts';

export interface Difference {
  /** Such as `input_schema.properties.path`. */
  readonly path: string;
  /** Absent where it is new. */
  readonly before?: unknown;
  /** Absent where it is gone. */
  readonly after?: unknown;
}

type Json = Readonly<Record<string, unknown>>;

/** In the order of the fields; everything of the second one when there is no first one. */
export function differences(before: Json, after: Json): Difference[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => differ(toVisible(key), memberOf(before, key), memberOf(after, key)));
}

function differ(path: string, before: unknown, after: unknown): Difference[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (isObject(before) && isObject(after)) {
    return differences(before, after).map((each) => ({ ...each, path: `${path}.${each.path}` }));
  }
  return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

/** `- ` before what is gone and `+ ` before what is new, a line each. */
export function differenceLines({ path, before, after }: Difference): string[] {
  const [gone, fresh] = [toLines(before), toLines(after)];
  let same = 0;
  while (same < gone.length && same < fresh.length && gone[same] === fresh[same]) same += 1;
  let end = 0;
  while (
    end < gone.length - same &&
    end < fresh.length - same &&
    gone.at(-1 - end) === fresh.at(-1 - end)
  ) {
    end += 1;
  }
  const changed = (lines: readonly string[]) => lines.slice(same, lines.length - end);
  return [
    path,
    ...changed(gone).map((line) => `  - ${line}`),
    ...changed(fresh).map((line) => `  + ${line}`),
  ];
}

function toLines(value: unknown): string[] {
  if (value === undefined) return [];
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return text.split('\n').map(toVisible);
}

function memberOf(value: Json, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
