// Tells pages which jobs changed. Engines may be shared by several gateways and report single jobs alone, so
// the newest jobs of each person that looks are compared once a second.

import type { JobView } from '@starloom/console/api-types';
import { FabricError } from '@starloom/core';
import type { ConsoleParts } from './console.ts';
import { countInbox } from './inbox.ts';
import { visibleJobs } from './jobs.ts';
import type { PageStream } from './page-stream.ts';

const POLL_MS = 1_000;
const NEWEST = 100;

interface Seen {
  readonly versions: Map<string, string>;
  counts: string;
  inbox: number;
}

export class JobWatch {
  readonly #parts: ConsoleParts;
  readonly #streams: ReadonlySet<PageStream>;
  readonly #seen = new WeakMap<PageStream, Seen>();

  constructor(parts: ConsoleParts, streams: ReadonlySet<PageStream>) {
    this.#parts = parts;
    this.#streams = streams;
  }

  /** Returns how to stop. */
  start(): () => void {
    if (!this.#parts.pipeline.jobs) return () => {};
    let isBusy = false;
    const poll = async () => {
      if (isBusy) return;
      isBusy = true;
      try {
        for (const stream of [...this.#streams]) await this.compare(stream);
      } catch (thrown) {
        const error = FabricError.from(thrown);
        this.#parts.pipeline.deps.log.debug({ error }, 'the console could not read jobs');
      } finally {
        isBusy = false;
      }
    };
    const timer = setInterval(() => void poll(), POLL_MS).unref();
    return () => clearInterval(timer);
  }

  /** What the page loads when it begins to listen is where its changes begin. */
  async compare(stream: PageStream): Promise<void> {
    const { jobs } = this.#parts.pipeline;
    const isWanted = stream.wants('jobs') || stream.wants('inbox');
    if (!jobs || !isWanted || !stream.isOpen) return;
    const { principal } = stream.options;
    const counts = JSON.stringify((await jobs.engine.counts()).states);
    const known = this.#seen.get(stream);
    const { jobs: views } = await visibleJobs(jobs, principal, { limit: NEWEST });
    const versions = new Map(views.map((job) => [job.job_id, versionOf(job)]));
    const inbox = await countInbox(this.#parts, principal);
    this.#seen.set(stream, { versions, counts, inbox });
    if (!known) return;
    const changed = views.filter((job) => known.versions.get(job.job_id) !== versionOf(job));
    for (const job of changed) stream.send('jobs', `job ${job.job_id}`, { type: 'job', job });
    // An older job than those that are compared.
    if (changed.length === 0 && counts !== known.counts) stream.reload('jobs');
    if (inbox !== known.inbox) stream.send('inbox', 'inbox', { type: 'inbox', count: inbox });
  }
}

function versionOf({ state, updated_at, cursor, cancelling }: JobView): string {
  return `${state} ${updated_at} ${cursor} ${cancelling}`;
}
