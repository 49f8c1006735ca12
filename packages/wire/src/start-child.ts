import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { FabricError } from '@starloom/core';
import { childEnvironment, type Environment } from './environment.ts';

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

export interface StartedChild extends ChildProcessWithoutNullStreams {
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

function startError(options: StartOptions, cause: unknown): FabricError {
  const { command, cwd } = options;
  const [reason, fix] = startFailure(cwd, cause);
  return new FabricError(
    'AGENT_OFFLINE',
    `The program "${basename(command)}" could not be started`,
    {
      details: { command, reason, fix, ...(cwd === undefined ? {} : { cwd }) },
      cause,
    },
  );
}

/** The kernel says ENOENT for a missing program and for a missing folder alike. */
function startFailure(cwd: string | undefined, cause: unknown): [reason: string, fix: string] {
  if (cwd !== undefined && !statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    return ['bad_cwd', 'name a folder that exists as cwd'];
  }
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ENOENT') return ['not_found', 'install the program, or give its full path'];
  if (code === 'EACCES') return ['not_executable', 'allow this user to execute the program'];
  return ['spawn_failed', 'see the cause in the log'];
}
