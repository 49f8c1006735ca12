import type { Health, Log } from '@starloom/core';
import { findProgram, type ProcessOptions } from '@starloom/wire';
import { type Isolation, isolationState, mayRunWithout, unisolated } from './isolation.ts';

export interface ProgramState {
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
