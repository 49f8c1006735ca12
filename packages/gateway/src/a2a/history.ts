// What was said in a task, in order: the message that began it, the agent's questions, the answers that
// came as messages, and what the agent answered in the end. Answers are kept with the job, with a bound.

import { Message } from '@a2a-js/sdk';
import type { Job, JobEvent, StoredJob } from '@starloom/core';
import type { JobCalls } from '../jobs/job-calls.ts';
import { changeNote } from './job-notes.ts';
import { agentMessage, textPart } from './parts.ts';
import { resultOf } from './read-result.ts';
import { askedStatus, idsOf } from './to-status.ts';

interface KeptAnswer {
  /** Number of the event that it follows. */
  readonly after: number;
  readonly message: unknown;
}

interface Said {
  readonly at: number;
  readonly message: Message;
}

const ANSWERS = 'a2a_answers';
const MOST_ANSWERS = 50;
/** Of all answers as JSON; the oldest are dropped first. */
const MOST_LENGTH = 256 * 1024;

export async function readHistory(
  job: StoredJob,
  events: readonly JobEvent[],
  jobs: JobCalls,
): Promise<Message[]> {
  const source = await jobs.sourceOf(job);
  const said = [...asked(job, events), ...answersOf(job).map(toSaid)];
  said.sort((a, b) => a.at - b.at);
  const all = [
    ...(source === undefined ? [] : [Message.fromJSON(source)]),
    ...said.map(({ message }) => message),
    ...ended(job),
  ];
  return all.map((message) => ({ ...message, taskId: job.id }));
}

/** Keeps the answer, and gives it to the job; an answer that the job does not take is not kept. */
export async function answerWith(
  message: Message,
  job: Job,
  { engine }: JobCalls,
  answer: () => Promise<StoredJob>,
): Promise<StoredJob> {
  const { contextId } = idsOf(job);
  const kept: KeptAnswer = {
    after: job.cursor,
    message: Message.toJSON({ ...message, contextId }),
  };
  await changeAnswers(engine, job, (answers) => bounded([...answers, kept]));
  try {
    return await answer();
  } catch (error) {
    const text = JSON.stringify(kept);
    await changeAnswers(engine, job, (answers) =>
      answers.filter((other) => JSON.stringify(other) !== text),
    );
    throw error;
  }
}

function asked(job: Job, events: readonly JobEvent[]): Said[] {
  const ids = idsOf(job);
  return events.flatMap((event, index) => {
    if (event.type !== 'status' || event.data.state !== 'awaiting_input') return [];
    const at = index + 1;
    const { message } = askedStatus(ids, event.data.inputs ?? [], at, event.at);
    return message ? { at, message } : [];
  });
}

function ended(job: StoredJob): Message[] {
  if (job.state !== 'succeeded') return [];
  const { answer } = resultOf(job);
  if (answer === '') return [];
  return [agentMessage(idsOf(job), `${job.id}-answer`, [textPart(answer)])];
}

/** After the question it answers. */
function toSaid({ after, message }: KeptAnswer): Said {
  return { at: after + 0.5, message: Message.fromJSON(message) };
}

function answersOf({ notes }: Job): readonly KeptAnswer[] {
  return (notes?.[ANSWERS] as readonly KeptAnswer[] | undefined) ?? [];
}

async function changeAnswers(
  engine: JobCalls['engine'],
  { id }: Job,
  change: (answers: readonly KeptAnswer[]) => readonly KeptAnswer[],
): Promise<void> {
  await changeNote<readonly KeptAnswer[]>(engine, id, ANSWERS, (before) => {
    const answers = change(before ?? []);
    return answers.length === 0 ? undefined : answers;
  });
}

function bounded(answers: readonly KeptAnswer[]): readonly KeptAnswer[] {
  let length = 0;
  const newest = answers.toReversed().filter((answer) => {
    length += JSON.stringify(answer).length;
    return length <= MOST_LENGTH;
  });
  return newest.slice(0, MOST_ANSWERS).toReversed();
}
