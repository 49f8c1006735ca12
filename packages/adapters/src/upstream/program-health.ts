import type { Health } from '@starloom/core';
import { findProgram, type ProcessOptions } from '@starloom/wire';
import { type Isolation, isolationState, mayRunWithout } from './isolation.ts';

export interface ProgramState {
  readonly start: ProcessOptions;
  readonly isolation: Isolation;
  readonly isClosed: boolean;
  readonly isRunning: boolean;
  readonly isBackingOff: boolean;
}

/** Of an agent that is a program: running, or able to start. */
export async function programHealth(state: ProgramState): Promise<Health> {
  const { start, isolation, isClosed, isRunning, isBackingOff } = state;
  const checked_at = new Date().toISOString();
  const offline = (message: string): Health => ({ status: 'offline', checked_at, message });
  if (isClosed) return offline('The adapter is closed');
  if (isRunning) return { status: 'online', checked_at };
  if (isBackingOff) return { status: 'degraded', checked_at, message: 'The program keeps dying' };
  if (!mayRunWithout(isolation) && (await isolationState(isolation)) === 'unavailable') {
    return offline('The isolation that the program must run in is missing');
  }
  if (await findProgram(start)) return { status: 'online', checked_at };
  return offline('The program is not there, or may not be executed');
}
