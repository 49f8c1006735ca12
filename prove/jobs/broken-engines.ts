// Engines that break one promise each. A campaign over one of them must find that.

import type { JobEngine } from '@starloom/core';
import type { Invariant } from './check.ts';

type Methods = Partial<{ [Name in keyof JobEngine]: JobEngine[Name] }>;

export interface BrokenEngine {
  readonly breaks: Invariant;
  breakIt(engine: JobEngine): JobEngine;
}

export const BROKEN_ENGINES: Readonly<Record<string, BrokenEngine>> = {
  accepts_without_storing: broken('accepted_is_kept', (engine) => ({
    async create(job) {
      const made = await engine.create(job);
      if (job.idempotencyKey !== undefined || !isEvery(5)) return made;
      return { ...made, job: { ...made.job, id: crypto.randomUUID() } };
    },
  })),
  never_ends_some: broken('one_end', (engine) => ({
    async claim(options) {
      const claims = await engine.claim(options);
      return claims.filter(({ job }) => !job.id.startsWith('0') && !job.id.startsWith('1'));
    },
  })),
  ends_twice: broken('one_end', (engine) => ({
    async get(id) {
      const job = await engine.get(id);
      if (job?.state !== 'succeeded' || !isEvery(3)) return job;
      const { result: _, ...rest } = job;
      return { ...rest, state: 'failed' };
    },
  })),
  stores_another_result: broken('one_result', (engine) => ({
    finish: (claim, outcome, events) =>
      engine.finish(
        claim,
        outcome.state === 'succeeded' ? { ...outcome, result: { answer: 'another' } } : outcome,
        events,
      ),
  })),
  forgets_sent: broken('at_most_once', () => ({ markSent: async () => true })),
  repeats_answers: broken('answered_once', (engine) => ({
    async claim(options) {
      const claims = await engine.claim(options);
      return claims.map((claim) => {
        if (claim.mode !== 'rejoin' || claim.job.capability !== 'asking') return claim;
        return { ...claim, job: { ...claim.job, answers: [{ id: 'q', response: {} }] } };
      });
    },
  })),
  loses_events: broken('stream_whole', (engine) => ({
    async events(id, options) {
      const page = await engine.events(id, options);
      return { ...page, events: page.events.filter(({ seq }) => seq !== 2) };
    },
  })),
  ignores_keys: broken('same_key_same_job', (engine) => ({
    create: ({ idempotencyKey: _, ...job }) => engine.create(job),
  })),
};

let count = 0;
function isEvery(n: number): boolean {
  count += 1;
  return count % n === 0;
}

function broken(breaks: Invariant, change: (engine: JobEngine) => Methods): BrokenEngine {
  return {
    breaks,
    breakIt: (engine) => {
      const methods = change(engine);
      return new Proxy(engine, {
        get(target, name: keyof JobEngine) {
          const method = methods[name] ?? target[name];
          return typeof method === 'function' ? method.bind(target) : method;
        },
      });
    },
  };
}
