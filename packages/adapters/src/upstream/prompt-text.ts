// A call as words, for agents that are models. Context under our own names is for programs: it never
// becomes part of a prompt.

import type { Envelope } from '@starloom/core';

type Input = Envelope['input'];
type Fields = Readonly<Record<string, unknown>>;

export interface PromptText {
  /** The words for the agent. */
  readonly text: string;
  /** What was given beside them. */
  readonly context: Fields;
}

export interface SplitInput {
  /** What is asked, in words. */
  readonly text: string;
  /** What else the caller gave: arguments and context. */
  readonly rest: Fields;
}

const OURS = 'io.starloom/';

/** The arguments `prompt` or `task` where there are arguments, else the task. */
export function toPromptText({ task, arguments: given, context }: Input): PromptText {
  const said = callerContext(context);
  if (given === undefined) return { text: task, context: said };
  const { prompt, task: asked, ...others } = given;
  const text = [prompt, asked, task].find((value) => typeof value === 'string' && value !== '');
  return { text: String(text ?? ''), context: { ...said, ...others } };
}

/** The task, wherever it stands, apart from the rest. */
export function splitTask({ task, arguments: given, context }: Input): SplitInput {
  const all = { ...callerContext(context), ...given };
  const { task: argument, ...rest } = all;
  if (argument === undefined) return { text: task, rest };
  return typeof argument === 'string' ? { text: argument, rest } : { text: task, rest: all };
}

/** What was given beside the words, where only words can be given. */
export function toContextText(context: PromptText['context']): string {
  return `Context, as JSON:\n${JSON.stringify(context)}`;
}

/** The context without what the gateway put there. */
export function callerContext(context: Fields): Fields {
  return Object.fromEntries(Object.entries(context).filter(([key]) => !key.startsWith(OURS)));
}
