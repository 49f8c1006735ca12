import type { Fields } from '@starloom/core';

/** What was given beside the words, where only words can be given. */
export function toContextText(rest: Fields): string {
  return `Context, as JSON:\n${JSON.stringify(rest)}`;
}
