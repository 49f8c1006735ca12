// When a provider may be asked again, and when not any more. A wait that would outlast the turn is
// not begun: the error comes at once, and says how long the provider wanted.

import { backoffMs, FabricError } from '@starloom/core';

export interface RetryRules {
  /** Tries in all. */
  readonly attempts: number;
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
}

export const DEFAULT_RETRY: RetryRules = {
  attempts: 5,
  firstWaitMs: 500,
  longestWaitMs: 30_000,
};

export interface RetryOptions {
  readonly rules: RetryRules;
  readonly signal: AbortSignal;
  readonly remainingMs: () => number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Before each wait. */
  readonly onRetry: (error: FabricError, attempt: number, waitMs: number) => void;
}

/** The first success, or the last failure. `attempt` throws nothing but FabricError. */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { rules, signal, remainingMs, wait, onRetry }: RetryOptions,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (cause) {
      const error = FabricError.from(cause);
      if (signal.aborted || !isTransient(error)) throw error;
      const waitMs = waitBefore(error, tries, rules);
      if (tries >= rules.attempts || waitMs > remainingMs()) throw giveUp(error, tries, waitMs);
      onRetry(error, tries, waitMs);
      await wait(waitMs, signal);
    }
  }
}

export function isTransient(error: FabricError): boolean {
  const { retry } = error.row;
  if (retry !== 'depends') return retry !== 'no';
  const { status } = error.details;
  return typeof status === 'number' && (status === 408 || status === 429 || status >= 500);
}

/** What the provider asked for, else doubling from the first wait, with up to half taken off. */
function waitBefore({ details }: FabricError, tries: number, rules: RetryRules): number {
  const asked = details.retry_after_ms;
  if (typeof asked === 'number' && asked >= 0) return asked;
  const { firstWaitMs: firstMs, longestWaitMs: longestMs } = rules;
  return backoffMs({ firstMs, longestMs, tries, jitter: 1 - Math.random() / 2 });
}

function giveUp(error: FabricError, attempts: number, waitMs: number): FabricError {
  const fix = 'try later, check the provider, or raise limits.seconds in agent.json';
  return error.with({ attempts, next_wait_ms: Math.round(waitMs), fix });
}
