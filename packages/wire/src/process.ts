// A child process that is always reaped. It leads a group of its own; when it ends, by itself or by
// `stop`, whatever it left behind is ended too. Output is read only as fast as a reader takes it;
// stderr is always drained.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { pipeline, type Readable, Transform, type Writable } from 'node:stream';
import { FabricError } from '@starloom/core';
import type { Excerpt } from './clean-text.ts';
import { childEnvironment, type Environment, markEnvironment } from './environment.ts';
import { readLines } from './lines.ts';
import { ProcessGroup } from './process-group.ts';
import { reaper } from './reaper.ts';
import { failure } from './reasons.ts';
import { settlesWithin } from './settles-within.ts';
import { StderrLines, StderrTail } from './stderr-tail.ts';

interface ProcessLimits {
  /** Default 1 MiB. */
  readonly maxLineBytes?: number;
  /** Of stdout in all; beyond it the group is killed. Unlimited by default. */
  readonly maxOutputBytes?: number;
  /** Default 64 KiB. */
  readonly stderrTailBytes?: number;
}

export interface ProcessOptions extends StartOptions {
  readonly limits?: ProcessLimits;
  /** Between SIGTERM and SIGKILL; default 5000. */
  readonly graceMs?: number;
  readonly onStderrLine?: (line: string) => void;
  /** Of a program that is an agent: `agentOfMarks` then knows what it and its children call. */
  readonly agentId?: string;
}

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How long the reason for an end is waited for. */
const EXIT_MS = 1_000;

/** The agent of this process that a process with these marks runs in, the innermost one. */
export function agentOfMarks(marks: string): string | undefined {
  return reaper.agentOfMarks(marks.split(','));
}

/** Rejects with AGENT_OFFLINE when the program cannot be started. */
export async function spawnProcess(options: ProcessOptions): Promise<ManagedProcess> {
  const { agentId } = options;
  const mark = reaper.nextMark(agentId !== undefined);
  const env = markEnvironment(options.env ?? childEnvironment(), mark);
  const child = await startChild({ ...options, env });
  const group = new ProcessGroup(child.pid, mark, agentId);
  reaper.add(group);
  return new ManagedProcess(child, group, options);
}

export class ManagedProcess implements AsyncDisposable {
  readonly pid: number;
  readonly stdin: Writable;
  /** Raw bytes, for callers that do not read lines. */
  readonly stdout: Readable;
  /** Of the program itself, at once; never rejects. Others of its group may still be ending. */
  readonly exited: Promise<ProcessExit>;

  readonly #group: ProcessGroup;
  readonly #command: string;
  readonly #graceMs: number;
  readonly #maxLineBytes: number;
  readonly #stderr: Readable;
  readonly #stderrTail: StderrTail;
  #ending: Promise<ProcessExit> | undefined;
  #stopped = false;
  #groupEmptied = false;
  #hasReader = false;

  constructor(child: StartedChild, group: ProcessGroup, options: ProcessOptions) {
    const { command, graceMs = 5_000, limits = {}, onStderrLine } = options;
    this.pid = child.pid;
    this.#group = group;
    this.#command = command;
    this.#graceMs = graceMs;
    this.#maxLineBytes = limits.maxLineBytes ?? 1_048_576;
    this.#stderrTail = new StderrTail(limits.stderrTailBytes ?? 65_536);

    const kill = () => group.signal('SIGKILL');
    const stdout = limitBytes(limits.maxOutputBytes ?? Infinity, kill).on('error', ignore);
    this.stdout = pipeline(child.stdout, stdout, ignore);
    this.stdin = child.stdin.on('error', ignore);
    this.#stderr = this.#drain(child.stderr, onStderrLine);
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        resolve({ code, signal });
        this.#ending ??= this.#end();
      });
    });
  }

  /**
   * Stdout as lines, for one consumer, who closes the pipe by leaving early. Fails with
   * UPSTREAM_ERROR and `details.reason` `line_too_long`, `invalid_utf8` or `output_too_large`;
   * ends without a failure when the process was stopped.
   */
  async *lines(): AsyncGenerator<string, void, undefined> {
    if (this.#hasReader) throw failure('second_reader', { command: this.#command });
    this.#hasReader = true;
    try {
      yield* readLines(this.stdout, { maxLineBytes: this.#maxLineBytes });
    } catch (error) {
      if (FabricError.is(error)) throw error.with({ command: this.#command });
      if (this.#stopped) return;
      throw failure('stdout_broken', { command: this.#command }, { cause: error });
    }
  }

  /** Resolves when the text has left us, so awaiting it is the back-pressure. */
  write(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.stdin.write(text, (error) => {
        if (error) reject(failure('stdin_closed', { command: this.#command }, { cause: error }));
        else resolve();
      });
    });
  }

  /** The last of what it said on stderr; complete once `stop` has resolved. */
  stderrTail(): string {
    return this.#stderrTail.toString();
  }

  /**
   * Signals the whole group; false when no process is left, since others may have its ids by now.
   */
  signal(signal: NodeJS.Signals): boolean {
    return !this.#groupEmptied && this.#group.signal(signal);
  }

  /**
   * Closes stdin, asks the whole group to end and kills it after the grace. Resolves when the
   * process and all that it started are gone. Output not read by then is discarded.
   */
  async stop(): Promise<ProcessExit> {
    this.#stopped = true;
    this.#ending ??= this.#end();
    const exit = await this.#ending;
    for (const stream of [this.stdin, this.stdout, this.#stderr]) stream.destroy();
    return exit;
  }

  /** How it exits and what it wrote last, once its output ended; without the exit when that takes longer. */
  async lastWords(excerpt: Excerpt): Promise<ReturnType<typeof toUpstream>> {
    await settlesWithin(this.stop(), EXIT_MS);
    const stillRunning: ProcessExit = { code: null, signal: null };
    const exit = await Promise.race([this.exited, Promise.resolve(stillRunning)]);
    return toUpstream(exit, excerpt(this.stderrTail(), 'tail'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #end(): Promise<ProcessExit> {
    const graceEnd = performance.now() + this.#graceMs;
    this.stdin.end();
    this.#group.signal('SIGTERM');
    await settlesWithin(this.exited, this.#graceMs);
    if (!(await this.#group.waitUntilEmpty(graceEnd - performance.now()))) {
      this.#group.signal('SIGKILL');
      await this.exited;
      await this.#group.waitUntilEmpty(Infinity);
    }
    const exit = await this.exited;
    this.#groupEmptied = true;
    await this.#group.killEscaped();
    reaper.remove(this.#group);
    // Its writers are gone, so the end is near, unless one escaped us and holds the pipe open.
    if (!this.#stderr.closed) await settlesWithin(once(this.#stderr, 'close'), 200);
    return exit;
  }

  #drain(stderr: Readable, onLine: ProcessOptions['onStderrLine']): Readable {
    const lines = onLine && new StderrLines(this.#maxLineBytes, onLine);
    return stderr
      .on('data', (chunk: Buffer) => {
        this.#stderrTail.push(chunk);
        lines?.push(chunk);
      })
      .on('end', () => lines?.end())
      .on('error', ignore);
  }
}

function limitBytes(maxBytes: number, onExceeded: () => void): Transform {
  let total = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      total += chunk.length;
      if (total <= maxBytes) return done(null, chunk);
      onExceeded();
      done(failure('output_too_large', { limit: maxBytes }));
    },
  });
}

function ignore(): void {}

/** How a process ended and what it wrote last, for `details.upstream`. */
export function toUpstream({ code, signal }: ProcessExit, stderr: string) {
  return {
    ...(code === null ? {} : { exit_code: code }),
    ...(signal === null ? {} : { signal }),
    ...(stderr === '' ? {} : { stderr }),
  };
}

export interface StartOptions {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** The whole environment; `childEnvironment()` by default. */
  readonly env?: Environment;
  /** Run as this user and group; needs the right to. */
  readonly uid?: number;
  readonly gid?: number;
}

interface StartedChild extends ChildProcessWithoutNullStreams {
  readonly pid: number;
}

/**
 * The program in a session and group of its own, without a shell. Rejects with AGENT_OFFLINE when
 * it cannot be started; otherwise resolves before any of its events.
 */
export async function startChild(options: StartOptions): Promise<StartedChild> {
  const child = spawnDetached(options);
  if (isStarted(child)) return child;
  const [error] = await once(child, 'error');
  for (const stream of child.stdio ?? []) stream?.destroy();
  throw startError(options, error);
}

function spawnDetached(options: StartOptions): ChildProcessWithoutNullStreams {
  const { command, args = [], cwd, env = childEnvironment(), uid, gid } = options;
  try {
    return spawn(command, args, {
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
      ...(cwd === undefined ? {} : { cwd }),
      ...(uid === undefined ? {} : { uid }),
      ...(gid === undefined ? {} : { gid }),
    });
  } catch (error) {
    throw startError(options, error);
  }
}

function isStarted(child: ChildProcessWithoutNullStreams): child is StartedChild {
  return child.pid !== undefined;
}

function startError({ command, cwd }: StartOptions, cause: unknown): FabricError {
  const program = basename(command);
  return failure(startFailure(cwd, cause), { program, command, cwd }, { cause });
}

/** The kernel says ENOENT for a missing program and for a missing folder alike. */
function startFailure(cwd: string | undefined, cause: unknown) {
  if (cwd !== undefined && !statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    return 'bad_cwd';
  }
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'not_found/program';
  return code === 'EACCES' ? 'not_executable' : 'spawn_failed';
}
