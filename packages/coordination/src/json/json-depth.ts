import type { Json } from '@starloom/core';

/** As deep as an update can say it: a message may be 64 deep, and the update is two deep in it. */
export const MAX_DEPTH = 62;

/** Level by level rather than by recursion: a hostile depth must not cost the stack. */
export function isTooDeep(value: Json): boolean {
  let level: Json[] = [value];
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    const next: Json[] = [];
    for (const container of level) {
      if (typeof container !== 'object' || container === null) continue;
      for (const child of Object.values(container)) next.push(child);
    }
    if (next.length === 0) return false;
    level = next;
  }
  return true;
}
