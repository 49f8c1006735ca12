// Group commit: while one batch is on its way to the disk, all that comes in waits for the next, so
// that any number of steps share one sync.

import { type ErrorPayload, FabricError } from '@starloom/core';
import { failure } from '../reasons.ts';
import type { JobLedger } from './job-ledger.ts';
import type { JobSteps } from './job-steps.ts';
import type { RemoteLedger } from './ledger-engine.ts';

/** Writes something of no meaning, to see that it can be done. */
export const WRITE_PROBE = 'writeProbe';

export interface LedgerStep {
  readonly method: keyof JobLedger | typeof WRITE_PROBE;
  readonly args: readonly unknown[];
}

export type Problem = ErrorPayload['error'];

export type LedgerReply = { readonly value: unknown } | { readonly problem: Problem };

/** One reply per step, in order. */
export type RunSteps = (steps: readonly LedgerStep[]) => Promise<readonly LedgerReply[]>;

const MAX_STEPS = 1024;
/** Above this, new jobs are refused until the disk has caught up. */
const MAX_WAITING = 50_000;

interface Waiting extends LedgerStep {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export class StepBatches {
  readonly #run: RunSteps;
  readonly #waiting: Waiting[] = [];
  #draining: Promise<void> | undefined;

  constructor(run: RunSteps) {
    this.#run = run;
  }

  /** By the methods of a ledger; those of `others` are not part of a batch. */
  toLedger(others: Partial<RemoteLedger> = {}): RemoteLedger {
    return new Proxy(others as RemoteLedger, {
      get: (_, method: keyof JobLedger) =>
        others[method] ?? ((...args: unknown[]) => this.step(method, args)),
    });
  }

  step(method: LedgerStep['method'], args: readonly unknown[]): Promise<unknown> {
    if (method === 'create' && this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(failure('engine_busy'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ method, args, resolve, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Resolves when no step is under way. */
  async idle(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
  }

  async #drain(): Promise<void> {
    // By then everything that comes in with this turn of the event loop is in the batch.
    await new Promise((resolve) => setImmediate(resolve));
    let settle = () => {};
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX_STEPS);
      const running = this.#run(batch.map(({ method, args }) => ({ method, args })));
      settle();
      settle = await running.then(
        (replies) => () => settleAll(batch, replies),
        (error: unknown) => () => {
          for (const { reject } of batch) reject(error);
        },
      );
    }
    this.#draining = undefined;
    settle();
  }
}

/** A step that is refused is a reply; any other error is thrown. */
export function runStep(ledger: JobSteps, { method, args }: LedgerStep): LedgerReply {
  try {
    const step = ledger[method as keyof JobSteps] as (...values: unknown[]) => unknown;
    return { value: step.apply(ledger, [...args]) };
  } catch (error) {
    if (!FabricError.is(error)) throw error;
    return { problem: toProblem(error) };
  }
}

export function toProblem({ code, message, details }: FabricError): Problem {
  return { code, message, details };
}

export function fromProblem({ code, message, details }: Problem): FabricError {
  return new FabricError(code, message, { details });
}

function settleAll(batch: readonly Waiting[], replies: readonly LedgerReply[]): void {
  for (const [index, { resolve, reject }] of batch.entries()) {
    const reply = replies[index];
    if (reply === undefined) reject(new FabricError('INTERNAL', 'A step of a job has no reply'));
    else if ('problem' in reply) reject(fromProblem(reply.problem));
    else resolve(reply.value);
  }
}
