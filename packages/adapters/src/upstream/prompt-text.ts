import { type Envelope, type Fields, readTask } from '@starloom/core';

/** A call as one text, for agents that read nothing else: the task, then what else the caller gave. */
export function toPrompt(input: Envelope['input']): string {
  const { text, rest } = readTask(input);
  const context = Object.keys(rest).length === 0 ? '' : toContextText(rest);
  return [text, context].filter((part) => part !== '').join('\n\n');
}

export function toContextText(rest: Fields): string {
  return `Context, as JSON:\n${JSON.stringify(rest)}`;
}
