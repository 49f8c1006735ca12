// How soon an event of an agent reaches a client that follows the job, through the engine; and what
// many streams that wait cost.

import { join } from 'node:path';
import type { JobEngine } from '@starloom/core';
import { followJob, JobRunner, openSqliteJobs, type RunJob } from '@starloom/jobs';
import { temporaryFolder } from '@starloom/testkit';
import { median, quantile, round } from '../statistics.ts';
import { sampleJob } from './sample-job.ts';

const SAMPLES = 300;

export interface StreamFigures {
  readonly first_event_p50_ms: number;
  readonly first_event_p99_ms: number;
  readonly streams: number;
  /** From the event of the one job that all follow to the last stream that has it. */
  readonly last_of_streams_ms: number;
  readonly kb_per_stream: number;
}

export async function measureStreams(streams: number, signal: AbortSignal): Promise<StreamFigures> {
  await using folder = await temporaryFolder();
  const engine = await openSqliteJobs({ path: join(folder.path, 'jobs.sqlite') });
  try {
    const delays = await measureFirstEvents(engine, signal);
    const waiting = await measureWaiting(engine, streams, signal);
    return {
      first_event_p50_ms: round(median(delays) ?? 0, 2),
      first_event_p99_ms: round(quantile(delays, 0.99) ?? 0, 2),
      streams,
      ...waiting,
    };
  } finally {
    await engine.close();
  }
}

async function measureFirstEvents(engine: JobEngine, signal: AbortSignal): Promise<number[]> {
  let saidAt = 0;
  const gate = { open: Promise.withResolvers<void>() };
  const run: RunJob = async (_, context) => {
    await context.markSent();
    await gate.open.promise;
    saidAt = performance.now();
    await context.emit({ type: 'token', data: { text: 'first' } }, 'agent');
    return succeeded();
  };
  const runner = new JobRunner({ engine, run });
  runner.start();
  const delays: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    gate.open = Promise.withResolvers();
    const { job } = await engine.create(sampleJob());
    const events = followJob(engine, job.id, { after: 0, signal });
    const first = events.next();
    while (!(await engine.get(job.id))?.sent)
      await new Promise((resolve) => setTimeout(resolve, 1));
    gate.open.resolve();
    await first;
    delays.push(performance.now() - saidAt);
    for await (const _ of events);
  }
  await runner.stop({ graceMs: 1_000 });
  return delays;
}

/** Each follows a job of its own, which has not begun. */
async function measureWaiting(engine: JobEngine, streams: number, signal: AbortSignal) {
  const made = Array.from({ length: streams }, () => engine.create(sampleJob()));
  const jobs = (await Promise.all(made)).map(({ job }) => job);
  const before = memoryKb();
  const follow = async (id: string) => {
    for await (const _ of followJob(engine, id, { after: 0, signal })) return;
  };
  const received = jobs.map(({ id }) => follow(id));
  await engine.counts();
  const kbPerStream = (memoryKb() - before) / streams;
  const run: RunJob = async (_, context) => {
    await context.markSent();
    await context.emit({ type: 'token', data: { text: 'first' } }, 'agent');
    return succeeded();
  };
  const runner = new JobRunner({ engine, run });
  const startedAt = performance.now();
  runner.start();
  await Promise.all(received);
  const lastMs = performance.now() - startedAt;
  await runner.stop({ graceMs: 10_000 });
  return { last_of_streams_ms: round(lastMs, 0), kb_per_stream: round(kbPerStream, 1) };
}

function memoryKb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1024;
}

function succeeded() {
  const final = { answer: 'done' };
  return { state: 'succeeded', agentId: 'agent', final, result: final } as const;
}
