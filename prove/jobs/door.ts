// What clients of a campaign may ask of one gateway. `Refused` is an answer; any other rejection leaves
// open what happened.

import type { JobAnswer, NewJob } from '@starloom/core';
import { readNdjson } from '@starloom/wire';
import type { StreamItem } from './history.ts';

export interface DoorJob {
  readonly job_id: string;
  readonly state: string;
  readonly attempt: number;
  readonly result?: { readonly answer: string };
  readonly error?: { readonly code: string; readonly details: { readonly reason?: string } };
}

export class Refused extends Error {
  readonly code: string;
  readonly reason: string | undefined;

  constructor(code: string, reason: string | undefined) {
    super(`${code} ${reason ?? ''}`);
    this.code = code;
    this.reason = reason;
  }
}

export interface Door {
  submit(job: NewJob): Promise<DoorJob>;
  status(id: string): Promise<DoorJob>;
  cancel(id: string): Promise<DoorJob>;
  answer(id: string, answers: readonly JobAnswer[]): Promise<DoorJob>;
  /** Ends when the job is over; rejects when the connection ends before. */
  stream(id: string, after: number, signal: AbortSignal): AsyncIterable<StreamItem>;
}

const ANSWER_MS = 3_000;

export function openHttpDoor(url: string): Door {
  const ask = async (path: string, body?: object): Promise<DoorJob> => {
    const response = await fetch(`${url}/${path}`, {
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const value = (await response.json()) as DoorJob & { code?: string; reason?: string };
    if (value.code !== undefined) throw new Refused(value.code, value.reason);
    return value;
  };
  return {
    submit: (job) => ask('submit', job),
    status: (id) => ask(`status/${id}`),
    cancel: (id) => ask(`cancel/${id}`, {}),
    answer: (id, answers) => ask(`answer/${id}`, { answers }),
    async *stream(id, after, signal) {
      const response = await fetch(`${url}/stream/${id}/${after}`, { signal });
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
      for await (const line of readNdjson(response.body, { maxLineBytes: 1 << 20 })) {
        if ((line as { end?: true }).end) return;
        yield line as StreamItem;
      }
      throw new Error('the stream broke off');
    },
  };
}
