import {
  type Adapter,
  type AdapterOptions,
  type AgentDescription,
  type CallContext,
  type Clock,
  type Envelope,
  type EventBody,
  FabricError,
  type Health,
  type Log,
  type Manifest,
  systemClock,
} from '@starloom/core';
import { assertCallable, assertWanted } from '../upstream/assert-callable.ts';
import { closedError } from '../upstream/closed-error.ts';
import { describeManifest } from '../upstream/describe-manifest.ts';
import { createExcerpt, type Excerpt } from '../upstream/excerpt.ts';
import { findProgram } from '../upstream/find-program.ts';
import { SharedProcess } from '../upstream/shared-process.ts';
import { AgentProcess } from './agent-process.ts';
import type { ProcessCall } from './process-call.ts';
import { type Program, parseProgram } from './program.ts';

export interface LocalProcessAdapterOptions extends AdapterOptions {
  readonly clock?: Clock;
}

/** For agents that are programs and speak lines of JSON: the `local-process` contract. */
export function createLocalProcessAdapter(options: LocalProcessAdapterOptions): Adapter {
  return new LocalProcessAdapter(options);
}

class LocalProcessAdapter implements Adapter {
  readonly #manifest: Manifest;
  readonly #program: Program;
  readonly #excerpt: Excerpt;
  readonly #shared: SharedProcess<AgentProcess> | undefined;
  readonly #alive = new Set<AgentProcess>();
  #closed = false;

  constructor({ manifest, log, clock = systemClock }: LocalProcessAdapterOptions) {
    this.#manifest = manifest;
    this.#program = parseProgram(manifest);
    this.#excerpt = createExcerpt(manifest);
    if (this.#program.pooled) this.#shared = new SharedProcess(() => this.#start(log), clock);
  }

  async *call(envelope: Envelope, { signal, log }: CallContext): AsyncIterable<EventBody> {
    assertWanted(signal);
    const names = assertCallable(this.#manifest, envelope);
    const process = await this.#acquire(log).catch((error: unknown) => {
      throw FabricError.from(error).with({ ...names, sent: false });
    });
    let call: ProcessCall | undefined;
    const release = () => {
      if (call !== undefined) process.leave(call);
      if (!this.#program.pooled) void process.retire();
    };
    const onAbort = () => {
      call?.events.abort(FabricError.from(signal.reason));
      release();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      assertWanted(signal);
      call = process.begin(envelope, names, log);
      yield* call.events;
    } finally {
      signal.removeEventListener('abort', onAbort);
      release();
    }
  }

  async health(): Promise<Health> {
    const checked_at = new Date().toISOString();
    if (this.#closed) return { status: 'offline', checked_at, message: 'The adapter is closed' };
    if (this.#shared?.running) return { status: 'online', checked_at };
    if (this.#shared && this.#shared.backoffMs > 0) {
      return { status: 'degraded', checked_at, message: 'The program keeps dying' };
    }
    if (await findProgram(this.#program.start)) return { status: 'online', checked_at };
    const message = 'The program is not there, or may not be executed';
    return { status: 'offline', checked_at, message };
  }

  async describe(): Promise<AgentDescription> {
    return describeManifest(this.#manifest);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#alive].map((process) => process.stop(closedError(this.#manifest))));
  }

  #acquire(log: Log): Promise<AgentProcess> {
    return this.#shared ? this.#shared.acquire() : this.#start(log);
  }

  async #start(log: Log): Promise<AgentProcess> {
    if (this.#closed) throw closedError(this.#manifest);
    const process = await AgentProcess.start({
      program: this.#program,
      excerpt: this.#excerpt,
      log: log.child({ agent_id: this.#manifest.agent_id }),
    });
    this.#alive.add(process);
    void process.gone.then(() => this.#alive.delete(process));
    if (this.#closed) await process.stop();
    return process;
  }
}
