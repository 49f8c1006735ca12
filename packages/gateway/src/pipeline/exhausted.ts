// What a failed attempt leads to: another agent, or the error of a call that no agent could serve, in the
// seed's shape: who was first, who came after, and in one word each why not.

import {
  type Attempt,
  type ErrorCode,
  FabricError,
  instanceKey,
  isErrorCode,
  type ResultFold,
  TOOL_ERROR,
} from '@starloom/core';
import type { Candidate } from './route.ts';

export interface FailedAttempt {
  readonly attempt: Attempt;
  readonly error: FabricError;
  readonly openCircuit: boolean;
}

export function exhausted(attempts: readonly FailedAttempt[], capability: string): FabricError {
  const failures = lastOfEach(attempts);
  const [first, ...rest] = failures;
  if (!first) return new FabricError('INTERNAL', 'No agent was tried', { details: { capability } });
  const { agent_id } = first.attempt;
  const details = {
    agent_id,
    capability,
    primary: describe(first),
    fallbacks: rest.map(describe),
    attempts: attempts.map(({ attempt }) => attempt),
  };
  if (rest.length === 0) {
    const { code, message, cause } = first.error;
    return new FabricError(code, message, {
      details: { ...first.error.details, ...details },
      cause,
    });
  }
  const isUnsent = attempts.every(({ error }) => error.details.sent === false);
  const message = `Agent ${agent_id} unavailable and all fallbacks failed`;
  return new FabricError(commonCode(failures), message, {
    details: {
      ...details,
      ...reasonsOf(failures),
      ...retryAfter(failures),
      ...(isUnsent && { sent: false }),
    },
    cause: attempts.at(-1)?.error,
  });
}

/** An instance may have been tried twice: what counts is how its last attempt failed. */
function lastOfEach(attempts: readonly FailedAttempt[]): FailedAttempt[] {
  const byInstance = new Map<string, FailedAttempt>();
  for (const one of attempts) {
    const key = instanceKey(one.attempt);
    if (!one.openCircuit || !byInstance.has(key)) byInstance.set(key, one);
  }
  return [...byInstance.values()];
}

/** When the first of them may serve again; nothing where one of them did not say. */
function retryAfter(failures: readonly FailedAttempt[]): { retry_after_ms?: number } {
  const waits = failures.map(({ error }) => Number(error.details.retry_after_ms));
  const retry_after_ms = Math.min(...waits);
  return Number.isFinite(retry_after_ms) ? { retry_after_ms } : {};
}

/** What the agents said, by agent; where only one said anything, its fix too. */
function reasonsOf(failures: readonly FailedAttempt[]) {
  const spoken = failures.filter(({ error }) => error.details.upstream !== undefined);
  const [only, ...others] = spoken;
  if (!only) return {};
  const upstream = Object.fromEntries(
    spoken.map(({ attempt, error }) => [attempt.agent_id, error.details.upstream]),
  );
  return { upstream, ...(others.length === 0 && { fix: only.error.details.fix }) };
}

function commonCode(failures: readonly FailedAttempt[]): ErrorCode {
  const codes = new Set(failures.map(({ attempt }) => attempt.code));
  const [code] = codes;
  return codes.size === 1 && isErrorCode(code) ? code : 'AGENT_OFFLINE';
}

const WORDS: Partial<Record<ErrorCode, string>> = {
  AGENT_OFFLINE: 'offline',
  TIMEOUT: 'timeout',
  AUTH_DENIED: 'denied',
  POLICY_DENIED: 'denied',
  MANIFEST_CHANGED: 'changed',
};

function describe({ attempt, error, openCircuit }: FailedAttempt): string {
  const word = openCircuit ? 'open-circuit' : (WORDS[error.code] ?? 'error');
  return `${instanceKey(attempt)}: ${word}`;
}

/** Whether other agents are asked after the agent's own error, as its operator may have said. */
export function fallsBackOnAnswer({ kind, capability }: Candidate, fold: ResultFold): boolean {
  const isNamed = capability.fallback_on?.includes(TOOL_ERROR) ?? false;
  return kind === 'primary' && isNamed && !fold.sawQuestion;
}

/** By the row of the error, and by what the agent may have done already. */
export function mayGoElsewhere(
  error: FabricError,
  candidate: Candidate,
  fold: ResultFold,
): boolean {
  const { fallback } = error.row;
  if (fallback === 'no' || fold.sawQuestion) return false;
  if (fallback === 'upstream' && error.details.upstream === undefined) return false;
  const { idempotent } = candidate.capability;
  if (idempotent === true || error.details.sent === false) return true;
  return idempotent === undefined && !fold.sawToolCall;
}
