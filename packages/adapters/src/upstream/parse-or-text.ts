import { assertJsonLimits } from '@starloom/wire';
import { exceedsDepth } from './exceeds-depth.ts';

/** A document inside of a text; one that is none, or is too large to be one, stays a text. */
export function parseOrText(text: string): unknown {
  try {
    assertJsonLimits(text);
    const value: unknown = JSON.parse(text);
    return exceedsDepth(value) ? text : value;
  } catch {
    return text;
  }
}
