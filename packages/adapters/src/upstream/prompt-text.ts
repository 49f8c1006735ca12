import type { Envelope } from '@starloom/core';

type Input = Envelope['input'];

export interface PromptText {
  /** The words for the agent. */
  readonly text: string;
  /** What was given beside them. */
  readonly context: Readonly<Record<string, unknown>>;
}

/** A call as words: the arguments `prompt` or `task` where there are arguments, else the task. */
export function toPromptText({ task, arguments: given, context }: Input): PromptText {
  if (given === undefined) return { text: task, context };
  const { prompt, task: asked, ...others } = given;
  const text = [prompt, asked, task].find((value) => typeof value === 'string' && value !== '');
  return { text: String(text ?? ''), context: { ...context, ...others } };
}

/** What was given beside the words, where only words can be given. */
export function toContextText(context: PromptText['context']): string {
  return `Context, as JSON:\n${JSON.stringify(context)}`;
}
