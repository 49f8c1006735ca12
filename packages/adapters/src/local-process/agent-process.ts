// One running process of an agent and the calls it serves: many at once when it is shared, else
// one. Lines go to their call by span id; while a call has no room, nothing is read. When the
// process ends or breaks the contract its calls fail, and it is ended with all it started.

import { setTimeout as delay } from 'node:timers/promises';
import {
  type CallContext,
  type Envelope,
  FabricError,
  type Log,
  type Manifest,
} from '@starloom/core';
import { type Excerpt, type ManagedProcess, type ProcessExit, toUpstream } from '@starloom/wire';
import type { z } from 'zod';
import { failure } from '../reasons.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import { PooledProcess } from '../upstream/process-pool.ts';
import { type AgentProgram, startProgram, toProgram } from '../upstream/program.ts';
import { isEventType } from '../upstream/read-event.ts';
import { localProcessOptionsSchema } from './options.ts';
import {
  type AgentLine,
  isLast,
  ProcessCall,
  parseLine,
  toCancelLine,
  toEnvelopeLine,
} from './process-call.ts';

/** Which program an agent is, and what it may do. */
export interface Program extends AgentProgram {
  readonly options: z.infer<typeof localProcessOptionsSchema>;
}

export function parseProgram(manifest: Manifest): Program {
  const options = parseOptions(localProcessOptionsSchema, manifest);
  const { pooled, preset, cwd, max_output_bytes: maxOutputBytes } = options;
  if (pooled && preset !== undefined) {
    throw failure('pooled_preset', { agent_id: manifest.agent_id });
  }
  const program = toProgram(manifest, options, {
    ...(cwd !== undefined && { cwd }),
    limits: pooled ? {} : { maxOutputBytes },
  });
  return { ...program, options };
}

interface AgentProcessOptions {
  readonly program: Program;
  readonly excerpt: Excerpt;
  readonly log: Log;
}

export class AgentProcess extends PooledProcess {
  readonly gone: Promise<void>;
  readonly #options: AgentProcessOptions;
  readonly #calls = new Map<string, ProcessCall>();
  #retiring: Promise<void> | undefined;

  /** Rejects with AGENT_OFFLINE when the program cannot be started. */
  static async start(options: AgentProcessOptions): Promise<AgentProcess> {
    const { program, excerpt, log } = options;
    return new AgentProcess(await startProgram(program, excerpt, log), options);
  }

  private constructor(child: ManagedProcess, options: AgentProcessOptions) {
    super(child);
    this.#options = options;
    this.gone = this.#read();
  }

  get users(): number {
    return this.#calls.size;
  }

  /** Sends the call; an error thrown here means that nothing was sent. */
  begin(envelope: Envelope, context: Pick<CallContext, 'log' | 'mandate'>): ProcessCall {
    const spanId = envelope.trace.span_id;
    this.assertTakes();
    if (this.#calls.has(spanId)) throw failure('span_in_use');
    const { program, excerpt } = this.#options;
    const maxBytes = program.options.max_output_bytes;
    const { log } = context;
    const call = new ProcessCall({ spanId, maxBytes, excerpt, log });
    this.#calls.set(spanId, call);
    this.#send(toEnvelopeLine(envelope, context));
    return call;
  }

  /** The call is over for the gateway; an agent that still works on it receives a cancellation. */
  leave({ spanId }: ProcessCall): void {
    if (this.#calls.delete(spanId)) this.#send(toCancelLine(spanId));
  }

  /** Lets the process end by itself within the grace, and ends it then. */
  retire(): Promise<void> {
    this.#retiring ??= this.#retire();
    return this.#retiring;
  }

  stop(error?: FabricError): Promise<ProcessExit> {
    this.close();
    if (error !== undefined) this.#failAll(() => error);
    return this.child.stop();
  }

  get #isPooled(): boolean {
    return this.#options.program.options.pooled;
  }

  async #retire(): Promise<void> {
    const grace = delay(this.#options.program.options.grace_ms, undefined, { ref: false });
    await Promise.race([this.closed, grace]);
    await this.stop();
  }

  async #read(): Promise<void> {
    try {
      for await (const text of this.child.lines()) await this.#take(text);
      const exit = await this.stop();
      this.#failAll((call) => this.#exitError(call, exit));
    } catch (error) {
      const err = FabricError.from(error);
      this.#options.log.debug({ err }, 'the agent broke the contract and is ended');
      await this.stop(err);
    }
  }

  async #take(text: string): Promise<void> {
    const line = parseLine(text);
    if (line === undefined) return;
    const call = this.#callOf(line);
    if (call === undefined) this.#options.log.debug({}, 'a line of the agent is of no open call');
    if (isLast(line)) this.#onLast(call);
    call?.take(line, Buffer.byteLength(text));
    await call?.events.room();
  }

  #callOf(line: AgentLine): ProcessCall | undefined {
    if (line.spanId !== undefined) return this.#calls.get(line.spanId);
    if (!this.#isPooled) return this.#calls.values().next().value;
    if (!isLast(line) && !isEventType(line.type)) return undefined;
    throw failure('no_span_id');
  }

  /** A process that serves one call reads nothing more; many wait for the end of their input. */
  #onLast(call: ProcessCall | undefined): void {
    if (call !== undefined && this.#calls.delete(call.spanId)) this.served += 1;
    if (!this.#isPooled && this.#calls.size === 0) this.child.stdin.end();
  }

  /** Not awaited: a process may answer without reading, and one that died says so by its exit. */
  #send(text: string): void {
    this.child.write(text).catch((err: unknown) => {
      this.#options.log.debug({ err }, 'the agent does not read its input');
      if (this.#isPooled) return this.stop();
    });
  }

  #failAll(toError: (call: ProcessCall) => FabricError): void {
    for (const call of this.#calls.values()) call.events.fail(toError(call));
    this.#calls.clear();
  }

  #exitError({ events }: ProcessCall, exit: ProcessExit): FabricError {
    const { excerpt } = this.#options;
    const upstream = toUpstream(exit, excerpt(this.child.stderrTail(), 'tail'));
    const hasBegun = events.hasEvents && !this.#isPooled;
    return failure(hasBegun ? 'no_final' : 'no_final/offline', { upstream });
  }
}
