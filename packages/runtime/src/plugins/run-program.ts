// Runs a program to its end for a tool: in a process group of its own, without a terminal or input,
// within a time and an amount of output. Whatever happens, nothing of it runs on afterwards.

import { FabricError, orAborted } from '@starloom/core';
import {
  BoundedBody,
  deadlineSignal,
  type Environment,
  type ManagedProcess,
  type ProcessExit,
  spawnProcess,
} from '@starloom/wire';

export interface ProgramRun {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  readonly timeoutMs: number;
  /** Of stdout; a program that writes more is ended there. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface ProgramOutput {
  /** `code` is null for a program that did not end by itself. */
  readonly exit: ProcessExit;
  readonly stdout: string;
  /** The last of it. */
  readonly stderr: string;
  /** Why it was ended before it ended itself. */
  readonly stopped?: 'timeout' | 'output';
}

const GRACE_MS = 2_000;
const STDERR_BYTES = 16_384;

/** Rejects when it cannot be started (AGENT_OFFLINE), or with the signal's reason. */
export async function runProgram(run: ProgramRun): Promise<ProgramOutput> {
  const { command, args, cwd, env, timeoutMs: ms, maxBytes, signal } = run;
  signal.throwIfAborted();
  using deadline = deadlineSignal({ ms, parent: signal, reason: TOO_LONG });
  const limits = { stderrTailBytes: STDERR_BYTES };
  const child = await spawnProcess({ command, args, cwd, env, graceMs: GRACE_MS, limits });
  child.stdin.end();
  const kept = new BoundedBody(maxBytes);
  const outcome = await orAborted(readAll(child, kept), deadline.signal).catch(FabricError.from);
  const exit = await child.stop();
  if (FabricError.is(outcome) && outcome !== TOO_LONG) throw outcome;
  const stdout = kept.toBuffer().toString('utf8');
  const output = { exit, stdout, stderr: child.stderrTail() };
  if (outcome === TOO_LONG) return { ...output, stopped: 'timeout' };
  return outcome === 'full' ? { ...output, stopped: 'output' } : output;
}

const TOO_LONG = new FabricError('TIMEOUT', 'The program took too long');

/** `full`: the program wrote more than is kept. */
async function readAll(child: ManagedProcess, kept: BoundedBody): Promise<'full' | undefined> {
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    if (!kept.push(chunk)) return 'full';
  }
  await child.exited;
  return undefined;
}
