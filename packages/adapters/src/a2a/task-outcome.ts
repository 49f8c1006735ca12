import { TaskState, type TaskStatus } from '@a2a-js/sdk';
import {
  ERROR_META_KEY,
  type EventBody,
  FabricError,
  fromErrorPayload,
  TOOL_ERROR,
} from '@starloom/core';
import type { Excerpt } from '@starloom/wire';
import { type TaskFold, textOf } from './task-fold.ts';

const WORDS: Readonly<Partial<Record<TaskState, string>>> = {
  [TaskState.TASK_STATE_FAILED]: 'failed',
  [TaskState.TASK_STATE_REJECTED]: 'rejected',
  [TaskState.TASK_STATE_CANCELED]: 'canceled',
};

/** The last event of a task that is over; throws what the agent answered when that is an error. */
export function toOutcome(fold: TaskFold, excerpt: Excerpt): EventBody {
  const state = fold.status?.state;
  const word = fold.reply || state === undefined ? undefined : WORDS[state];
  if (word === undefined) return { type: 'final', data: fold.final() };
  throw toAgentAnswer(word, fold.status, excerpt);
}

/** The agent's own answer: no other agent is asked, no circuit opens. */
function toAgentAnswer(word: string, status: TaskStatus | undefined, excerpt: Excerpt) {
  const message = status?.message;
  const ours = fromErrorPayload(message?.metadata?.[ERROR_META_KEY]);
  if (ours && !ours.isAgentAnswer) return ours;
  const said = excerpt(textOf(message));
  const upstream = said === '' ? 'The agent gave no reason' : said;
  return new FabricError('UPSTREAM_ERROR', `The task of the agent ended as ${word}`, {
    details: { reason: TOOL_ERROR, state: word, upstream, fix: 'see details.upstream' },
    answer: { isError: true, content: [{ type: 'text', text: upstream }] },
  });
}
