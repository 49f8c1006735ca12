import {
  type Adapter,
  type AdapterOptions,
  type AgentDescription,
  assertWanted,
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
import type { Excerpt } from '@starloom/wire';
import { assertCallable, type CallNames, closedError } from '../upstream/call.ts';
import { agentExcerpt, describeManifest } from '../upstream/endpoint.ts';
import { describeIsolation } from '../upstream/isolation.ts';
import { programHealth } from '../upstream/program.ts';
import { SharedProcess } from '../upstream/shared-process.ts';
import { AgentProcess } from './agent-process.ts';
import { runCommandLine } from './command-line.ts';
import type { PresetName } from './presets.ts';
import type { ProcessCall } from './process-call.ts';
import { type Program, parseProgram } from './program.ts';

interface LocalProcessAdapterOptions extends AdapterOptions {
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
  /** Processes of command lines, which end with the signal. */
  readonly #runs = new Set<Promise<unknown>>();
  readonly #stopRuns = new AbortController();
  #closed = false;

  constructor({ manifest, log, clock = systemClock }: LocalProcessAdapterOptions) {
    this.#manifest = manifest;
    this.#program = parseProgram(manifest);
    this.#excerpt = agentExcerpt(manifest);
    if (this.#program.pooled) this.#shared = new SharedProcess(() => this.#start(log), clock);
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    const { signal, log } = context;
    assertWanted(signal);
    const names = assertCallable(this.#manifest, envelope);
    if (this.#program.preset !== undefined) {
      return yield* this.#runOnce(this.#program.preset, envelope, context, names);
    }
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
      call = process.begin(envelope, names, context);
      yield* call.events;
    } finally {
      signal.removeEventListener('abort', onAbort);
      release();
    }
  }

  async health({ log }: CallContext): Promise<Health> {
    const { start, isolation } = this.#program;
    return programHealth({
      start,
      isolation,
      isClosed: this.#closed,
      isRunning: this.#shared?.running !== undefined,
      isBackingOff: this.#shared !== undefined && this.#shared.backoffMs > 0,
      log,
    });
  }

  async describe(): Promise<AgentDescription> {
    const { capabilities, ...described } = describeManifest(this.#manifest);
    const { isolation } = this.#program;
    return { ...described, capabilities: await describeIsolation(capabilities, isolation) };
  }

  async close(): Promise<void> {
    this.#closed = true;
    const error = closedError(this.#manifest);
    this.#stopRuns.abort(error);
    await Promise.all([...this.#alive].map((process) => process.stop(error)));
    await Promise.all(this.#runs);
  }

  #runOnce(
    preset: PresetName,
    envelope: Envelope,
    context: CallContext,
    names: CallNames,
  ): AsyncIterable<EventBody> {
    if (this.#closed) throw closedError(this.#manifest).with({ ...names, sent: false });
    return runCommandLine({
      preset,
      envelope,
      context,
      names,
      program: this.#program,
      excerpt: this.#excerpt,
      closing: this.#stopRuns.signal,
      onStarted: (gone) => {
        this.#runs.add(gone);
        void gone.then(() => this.#runs.delete(gone));
      },
    });
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
