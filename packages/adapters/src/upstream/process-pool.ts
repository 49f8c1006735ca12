// The processes of one agent; all of them end with its adapter. A shared process is started by the
// first call and replaced by the next call after it died. One that dies before it has served a call is
// not started again at once: until its time has come calls are refused, so that they can go elsewhere.

import {
  Backoff,
  type Clock,
  type FabricError,
  type Health,
  type Log,
  type Manifest,
} from '@starloom/core';
import { findProgram, type ManagedProcess } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { closedError } from './call.ts';
import { isolationState, mayRunWithout, reportUnisolated } from './isolation.ts';
import type { AgentProgram } from './program.ts';

const RESTARTS = { firstMs: 100, longestMs: 30_000 };
/** What may wait for a process that does not read its input. */
const MAX_UNREAD_INPUT = 4_194_304;

interface Stoppable {
  /** Resolves when the process and all it started are gone. */
  stop(error?: FabricError): Promise<unknown>;
}

/** A process that serves calls, one after the other or many at once. */
export abstract class PooledProcess implements Stoppable {
  protected readonly child: ManagedProcess;
  /** How many calls it has brought to an end itself. */
  served = 0;
  /** How many calls use it now. */
  abstract readonly users: number;
  /** Resolves once it and all it started are gone, and its calls know. */
  abstract readonly gone: Promise<void>;
  protected isOpen = true;
  readonly #closed = Promise.withResolvers<void>();

  constructor(child: ManagedProcess) {
    this.child = child;
    void child.exited.then(() => this.close());
  }

  /** Ends the process and all it started; its calls fail with `error`. */
  abstract stop(error?: FabricError): Promise<unknown>;

  /** Resolves once it takes no more calls. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  protected close(): void {
    this.isOpen = false;
    this.#closed.resolve();
  }

  /** Refuses a call before anything of it is sent. */
  protected assertTakes(): void {
    if (!this.isOpen) throw failure('process_ended', { sent: false });
    if (this.child.stdin.writableLength > MAX_UNREAD_INPUT) throw failure('input_full');
  }
}

interface ProcessPoolOptions<Process> {
  readonly manifest: Manifest;
  readonly program: AgentProgram;
  /** How many processes calls share; 0: each call has its own. */
  readonly shared: number;
  readonly start: (log: Log) => Promise<Process>;
  readonly log: Log;
  readonly clock: Clock;
}

export class ProcessPool<Process extends PooledProcess> {
  readonly #options: ProcessPoolOptions<Process>;
  readonly #slots: readonly ProcessSlot<Process>[];
  readonly #alive = new Set<Stoppable>();
  readonly #closing = new AbortController();

  constructor(options: ProcessPoolOptions<Process>) {
    const { shared, clock, log } = options;
    this.#options = options;
    const start = () => this.#start(log);
    this.#slots = Array.from({ length: shared }, () => new ProcessSlot(start, clock));
  }

  /** Aborts when the adapter is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Shared processes that take calls now. */
  get running(): readonly Process[] {
    return this.#slots.flatMap(({ running }) => running ?? []);
  }

  /** The shared process with the fewest calls, or a new one. Rejects before anything was sent. */
  async acquire(log: Log): Promise<Process> {
    const [slot] = this.#slots.toSorted((one, other) => one.users - other.users);
    return slot ? slot.acquire() : this.#start(log);
  }

  /** Ends the process with the adapter, until the returned function is called. */
  hold(process: Stoppable): () => void {
    this.#alive.add(process);
    return () => this.#alive.delete(process);
  }

  async health(log: Log): Promise<Health> {
    const { start, isolation } = this.#options.program;
    const checked_at = new Date().toISOString();
    const offline = (message: string): Health => ({ status: 'offline', checked_at, message });
    if (this.closing.aborted) return offline('The adapter is closed');
    const isUnavailable = (await isolationState(isolation)) === 'unavailable';
    const online: Health = {
      status: 'online',
      checked_at,
      ...(isUnavailable && mayRunWithout(isolation) && reportUnisolated(isolation, log)),
    };
    if (this.running.length > 0) return online;
    if (this.#isBackingOff) {
      return { status: 'degraded', checked_at, message: 'The program keeps dying' };
    }
    if (!mayRunWithout(isolation) && isUnavailable) {
      return offline('The isolation that the program must run in is missing');
    }
    if (await findProgram(start)) return online;
    return offline('The program is not there, or may not be executed');
  }

  async close(): Promise<void> {
    const error = closedError(this.#options.manifest);
    this.#closing.abort(error);
    await Promise.all(Array.from(this.#alive, (process) => process.stop(error)));
  }

  /** No process is started for now, because they keep dying. */
  get #isBackingOff(): boolean {
    return this.#slots.length > 0 && this.#slots.every(({ backoffMs }) => backoffMs > 0);
  }

  async #start(log: Log): Promise<Process> {
    this.closing.throwIfAborted();
    const process = await this.#options.start(log);
    const release = this.hold(process);
    void process.gone.then(release);
    if (this.closing.aborted) await process.stop(this.closing.reason);
    return process;
  }
}

class ProcessSlot<Process extends PooledProcess> {
  readonly #start: () => Promise<Process>;
  readonly #backoff: Backoff;
  #current: Promise<Process> | undefined;
  #running: Process | undefined;

  constructor(start: () => Promise<Process>, clock: Clock) {
    this.#start = start;
    this.#backoff = new Backoff(RESTARTS, clock);
  }

  get running(): Process | undefined {
    return this.#running;
  }

  get users(): number {
    return this.#running?.users ?? 0;
  }

  /** How long no process is started; 0 when one may be. */
  get backoffMs(): number {
    return Math.ceil(this.#backoff.remainingMs());
  }

  async acquire(): Promise<Process> {
    if (this.#current === undefined) this.#assertRested();
    this.#current ??= this.#open();
    return this.#current;
  }

  async #open(): Promise<Process> {
    try {
      const process = await this.#start();
      this.#running = process;
      void process.closed.then(() => this.#onClosed(process));
      return process;
    } catch (error) {
      this.#current = undefined;
      throw error;
    }
  }

  #onClosed({ served }: Process): void {
    this.#current = undefined;
    this.#running = undefined;
    if (served > 0) this.#backoff.succeeded();
    else this.#backoff.failed();
  }

  #assertRested(): void {
    const retry_after_ms = this.backoffMs;
    if (retry_after_ms > 0) throw failure('backing_off', { retry_after_ms });
  }
}
