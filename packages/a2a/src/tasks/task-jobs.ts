// What keeps and runs the tasks of an A2A server: a task is a job under the same id. The gateway has its
// jobs for that, an agent its own.

import type { Message } from '@a2a-js/sdk';
import type { GivenInput, Job, JobEngine, StoredJob } from '@starloom/core';
import type { JobDesk } from '@starloom/jobs';

export interface TaskOwner {
  readonly id: string;
}

export interface TaskJobs {
  readonly desk: JobDesk;
  readonly engine: JobEngine;
  /** A job of the owner; any other looks unknown. */
  find(owner: TaskOwner, id: unknown): Promise<StoredJob>;
  maySee(owner: TaskOwner, job: Pick<Job, 'agent_id' | 'capability'>): boolean;
  /** The message that began the task, as JSON. */
  sourceOf(job: StoredJob): Promise<unknown>;
  /** Answers what the task asks; those that do not fit are BAD_INPUT. */
  input(ownerId: string, id: string, inputs: readonly GivenInput[]): Promise<StoredJob>;
}

/** A message that begins a task. */
export interface NewTask {
  readonly message: Message;
  /** Of the request and the message. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly contextId: string;
  /** Media types that the client takes as an answer; empty: any. */
  readonly accepted: readonly string[];
  /** Reads the last task of the context, if the caller has one. */
  readonly last: () => Promise<StoredJob | undefined>;
}
