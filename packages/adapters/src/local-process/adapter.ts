import {
  type Adapter,
  type AdapterOptions,
  type AgentDescription,
  assertWanted,
  type CallContext,
  type Clock,
  type Envelope,
  type EventBody,
  type Health,
  type Manifest,
  systemClock,
} from '@starloom/core';
import type { Excerpt } from '@starloom/wire';
import { assertCallable, failureOf, throwUnsent } from '../upstream/call.ts';
import { agentExcerpt, describeManifest } from '../upstream/endpoint.ts';
import { describeIsolation } from '../upstream/isolation.ts';
import { ProcessPool } from '../upstream/process-pool.ts';
import { AgentProcess, type Program, parseProgram } from './agent-process.ts';
import { runCommandLine } from './command-line.ts';
import type { ProcessCall } from './process-call.ts';

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
  readonly #pool: ProcessPool<AgentProcess>;

  constructor({ manifest, log, clock = systemClock }: LocalProcessAdapterOptions) {
    const { agent_id } = manifest;
    const program = parseProgram(manifest);
    const excerpt = agentExcerpt(manifest);
    this.#manifest = manifest;
    this.#program = program;
    this.#excerpt = excerpt;
    this.#pool = new ProcessPool({
      manifest,
      program,
      shared: program.options.pooled ? 1 : 0,
      start: (each) => AgentProcess.start({ program, excerpt, log: each.child({ agent_id }) }),
      log,
      clock,
    });
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    const { signal, log } = context;
    assertWanted(signal);
    assertCallable(this.#manifest, envelope);
    const [program, excerpt, pool] = [this.#program, this.#excerpt, this.#pool];
    const { preset, pooled } = program.options;
    let process: AgentProcess | undefined;
    let call: ProcessCall | undefined;
    const leave = () => {
      if (call) process?.leave(call);
      if (!pooled) void process?.retire();
    };
    try {
      if (preset !== undefined) {
        return yield* runCommandLine({ preset, envelope, context, program, excerpt, pool });
      }
      process = await pool.acquire(log).catch(throwUnsent);
      assertWanted(signal);
      call = process.begin(envelope, context);
      yield* call.events.readUntil(signal, leave);
    } catch (error) {
      throw failureOf(error, this.#manifest, context, envelope);
    } finally {
      leave();
    }
  }

  health({ log }: CallContext): Promise<Health> {
    return this.#pool.health(log);
  }

  async describe(): Promise<AgentDescription> {
    const { capabilities, ...described } = describeManifest(this.#manifest);
    const { isolation } = this.#program;
    return { ...described, capabilities: await describeIsolation(capabilities, isolation) };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
