import { z } from 'zod';

/** RFC 6901: `/choices/0/text`; the empty one is the whole document. */
export const pointerSchema = z.string().regex(/^(?:\/(?:[^~/]|~[01])*)*$/, {
  error: 'expected a JSON Pointer such as /result/text',
});

/** What `pointer` leads to; `undefined` where there is nothing. */
export function pointTo(document: unknown, pointer: string): unknown {
  let value = document;
  for (const token of pointer.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}
