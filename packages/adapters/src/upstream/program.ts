// Options of every adapter that starts a program.

import type { Health, Log } from '@starloom/core';
import { findProgram, type ProcessOptions } from '@starloom/wire';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import {
  ISOLATION_LEVELS,
  type Isolation,
  isolationState,
  mayRunWithout,
  unisolated,
} from './isolation.ts';

const bytes = z.int().positive();

export const programOptions = {
  max_line_bytes: bytes.default(16_777_216).describe('Longest line that the program may write'),
  max_output_bytes: bytes.default(67_108_864).describe('Most it may write for one call'),
  grace_ms: z.int().nonnegative().default(2_000).describe('From cancel to SIGTERM, and to SIGKILL'),
  inherit_env: z
    .array(z.string().min(1))
    .default([])
    .describe('Variables of the gateway that it receives, besides PATH, HOME and the like'),
  isolation: z
    .enum(ISOLATION_LEVELS)
    .default('none')
    .describe('Bubblewrap: preferred where available; required refuses calls without it'),
  writable: z
    .array(z.string().min(1))
    .default([])
    .describe('Folders that the isolated program may write to, besides the one it runs in'),
  hidden: z
    .array(z.string().min(1))
    .default([])
    .describe('Folders that look empty to the isolated program'),
  network: z.boolean().default(true).describe('false: the isolated program has no network'),
  user: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('User that it runs as, instead of bubblewrap; the gateway must run as root'),
} as const;

interface IsolationOptions {
  readonly isolation: Isolation['level'];
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly network: boolean;
  readonly user?: string | undefined;
}

export function toIsolation(options: IsolationOptions): Isolation {
  const { isolation: level, writable, hidden, network, user } = options;
  const isOfBubblewrap = writable.length > 0 || hidden.length > 0 || !network;
  if (user !== undefined && isOfBubblewrap) throw failure('bad_options/bubblewrap');
  return { level, writable, hidden, network, user };
}

interface ProgramState {
  readonly start: ProcessOptions;
  readonly isolation: Isolation;
  readonly isClosed: boolean;
  readonly isRunning: boolean;
  readonly isBackingOff: boolean;
  readonly log: Log;
}

/** Of an agent that is a program: running, or able to start. */
export async function programHealth(state: ProgramState): Promise<Health> {
  const { start, isolation, isClosed, isRunning, isBackingOff, log } = state;
  const checked_at = new Date().toISOString();
  const offline = (message: string): Health => ({ status: 'offline', checked_at, message });
  if (isClosed) return offline('The adapter is closed');
  const isUnavailable = (await isolationState(isolation)) === 'unavailable';
  const online: Health = {
    status: 'online',
    checked_at,
    ...(isUnavailable && mayRunWithout(isolation) && unisolated(isolation, log)),
  };
  if (isRunning) return online;
  if (isBackingOff) return { status: 'degraded', checked_at, message: 'The program keeps dying' };
  if (!mayRunWithout(isolation) && isUnavailable) {
    return offline('The isolation that the program must run in is missing');
  }
  if (await findProgram(start)) return online;
  return offline('The program is not there, or may not be executed');
}
