// Tasks of A2A 0.2.5, as far as they are used here.

import { type EventBody, FabricError, TOOL_ERROR } from '@starloom/core';
import { z } from 'zod';
import { exceedsDepth } from '../upstream/exceeds-depth.ts';
import { readEvent } from '../upstream/read-event.ts';
import { badAnswer } from './translate.ts';

const partSchema = z.looseObject({
  kind: z.string().nullish(),
  text: z.string().nullish(),
  data: z.unknown().optional(),
});

const taskSchema = z.object({
  id: z.string().min(1).max(256),
  status: z.object({
    state: z.string().min(1).max(64),
    message: z.object({ parts: z.array(partSchema) }).nullish(),
  }),
  history: z.array(z.object({ role: z.string(), parts: z.array(partSchema) })).nullish(),
  artifacts: z
    .array(
      z.object({
        artifactId: z.string().min(1).max(256),
        name: z.string().nullish(),
        parts: z.array(partSchema),
      }),
    )
    .nullish(),
});

export type Task = z.infer<typeof taskSchema>;
type Part = z.infer<typeof partSchema>;

const OVER: ReadonlySet<string> = new Set([
  'completed',
  'failed',
  'canceled',
  'rejected',
  // There is no way to answer: Agent Zero never asks, and keeps no task open.
  'input-required',
  'auth-required',
]);

export function parseTask(value: unknown): Task {
  const task = taskSchema.safeParse(value);
  if (task.success && !exceedsDepth(value)) return task.data;
  throw badAnswer('no task');
}

export function isOver({ status }: Task): boolean {
  return OVER.has(status.state);
}

/** What a task that is over amounts to; throws unless it completed. */
export function* fromTask(task: Task): Generator<EventBody, void, undefined> {
  const { status, history, artifacts } = task;
  if (status.state !== 'completed') throw taskFailure(task);
  for (const { artifactId, name, parts } of artifacts ?? []) {
    const text = textOf(parts);
    if (text === '') continue;
    const event = readEvent('artifact', { id: artifactId, name, media_type: 'text/plain', text });
    if (event) yield event;
  }
  const last = history?.findLast(({ role }) => role === 'agent')?.parts ?? [];
  const parts = last.length > 0 ? last : (artifacts ?? []).flatMap((artifact) => artifact.parts);
  const data = parts.find(({ kind }) => kind === 'data')?.data;
  const final = readEvent('final', { answer: textOf(parts), data });
  if (final) yield final;
}

/** It gives no reason of its own, unless the status has a message. */
function taskFailure({ status }: Task): FabricError {
  const said = textOf(status.message?.parts ?? []).slice(0, 2_000);
  return new FabricError('UPSTREAM_ERROR', 'The task of the agent did not complete', {
    details: {
      reason: TOOL_ERROR,
      upstream: { state: status.state, ...(said !== '' && { message: said }) },
      fix: 'see the log of the agent',
    },
  });
}

function textOf(parts: readonly Part[]): string {
  return parts.map(({ text }) => text ?? '').join('');
}
