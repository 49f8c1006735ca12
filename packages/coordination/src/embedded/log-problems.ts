import { FabricError } from '@starloom/core';
import type { LogProblem } from './log-messages.ts';

/** What a problem with the file means for the operator of the gateway. */
export function toFabricError(path: string, problem: LogProblem, cause?: unknown): FabricError {
  const { code, message, reason, fix } = PROBLEMS[problem.reason];
  return new FabricError(code, message, {
    details: { reason, path, problem: problem.message, fix: fix(path) },
    cause,
  });
}

const PROBLEMS = {
  in_use: {
    code: 'BAD_INPUT',
    message: 'Another process uses this coordination store',
    reason: 'store_in_use',
    fix: () => 'stop the other process, give this one its own path, or share a Redis store',
  },
  foreign: {
    code: 'BAD_INPUT',
    message: 'This file is not a coordination store',
    reason: 'not_a_store',
    fix: () => 'name another path',
  },
  newer: {
    code: 'BAD_INPUT',
    message: 'This coordination store was written by a newer version',
    reason: 'newer_store',
    fix: () => 'run the newer version, or name another path',
  },
  corrupt: {
    code: 'INTERNAL',
    message: 'The coordination store is damaged',
    reason: 'corrupt_store',
    fix: (path: string) => `restore ${path} from a backup, or move it away to start empty`,
  },
  io: {
    code: 'OVERLOADED',
    message: 'The coordination store cannot be written',
    reason: 'engine_unavailable',
    fix: (path: string) => `make room on the disk, or correct the permissions of ${path}`,
  },
} as const satisfies Record<LogProblem['reason'], object>;
