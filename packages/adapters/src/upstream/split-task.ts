import type { Envelope } from '@starloom/core';

export interface SplitInput {
  /** What is asked, in words. */
  readonly text: string;
  /** What else the caller gave: arguments and context. */
  readonly rest: Readonly<Record<string, unknown>>;
}

/** For agents that are talked to: the task, wherever it stands, apart from the rest. */
export function splitTask({ task, arguments: given, context }: Envelope['input']): SplitInput {
  const all = { ...context, ...given };
  const { task: argument, ...rest } = all;
  if (argument === undefined) return { text: task, rest };
  return typeof argument === 'string' ? { text: argument, rest } : { text: task, rest: all };
}
