// What waits for this person: questions of its jobs, and for operators tools that changed.

import type { Inbox, InboxQuestion } from '@starloom/console/api-types';
import type { Job } from '@starloom/core';
import { isRegistryOperator, type Principal } from '@starloom/identity';
import { agentsOf } from './agents.ts';
import type { ConsoleParts } from './console.ts';
import { toQuestions } from './jobs.ts';
import { type Handlers, notRunning, toTime } from './request.ts';

const MAX_QUESTIONS = 100;

export const inboxHandlers: Handlers = {
  'GET inbox': async ({ parts, principal }): Promise<Inbox> => ({
    questions: (await waitingJobs(parts, principal)).map(toInboxQuestion),
    held: heldTools(parts, principal),
    off: [notRunning('approvals'), ...(parts.pipeline.jobs ? [] : [notRunning('jobs')])],
  }),
  'GET approvals': () => notRunning('approvals'),
};

export async function countInbox(parts: ConsoleParts, principal: Principal): Promise<number> {
  const questions = await waitingJobs(parts, principal);
  return questions.length + heldTools(parts, principal).length;
}

async function waitingJobs(
  { pipeline: { jobs } }: ConsoleParts,
  principal: Principal,
): Promise<readonly Job[]> {
  if (!jobs) return [];
  const own = { principalId: principal.id, limit: MAX_QUESTIONS };
  const page = await jobs.desk.list({ ...own, state: 'awaiting_input' });
  return page.jobs.filter((job) => jobs.maySee(principal, job));
}

function toInboxQuestion(job: Job): InboxQuestion {
  const { id, agent_id, capability, updated_at, input_expires_at } = job;
  const expires_at = toTime(input_expires_at);
  return {
    job_id: id,
    ...(agent_id !== undefined && { agent_id }),
    capability,
    asked_at: toTime(updated_at),
    ...(expires_at !== undefined && { expires_at }),
    inputs: toQuestions(job),
  };
}

function heldTools(parts: ConsoleParts, principal: Principal): Inbox['held'] {
  if (!isRegistryOperator(principal)) return [];
  return agentsOf(parts, principal)
    .list()
    .filter(({ held }) => held.length > 0)
    .map(({ manifest, held }) => ({
      agent_id: manifest.agent_id,
      tools: held.map(({ name }) => name),
    }));
}
