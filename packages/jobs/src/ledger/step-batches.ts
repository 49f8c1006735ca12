// The methods of a ledger as steps of batches: any number of steps share one transaction.

import { type ErrorPayload, FabricError } from '@starloom/core';
import { GroupBatches } from '@starloom/wire';
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

const MAX_STEPS = 1024;
/** Above this, new jobs are refused until the disk has caught up. */
const MAX_WAITING = 50_000;

export class StepBatches {
  readonly #batches: GroupBatches<LedgerStep, LedgerReply>;

  constructor(run: (steps: readonly LedgerStep[]) => Promise<readonly LedgerReply[]>) {
    this.#batches = new GroupBatches(MAX_STEPS, run);
  }

  /** By the methods of a ledger; those of `others` are not part of a batch. */
  toLedger(others: Partial<RemoteLedger> = {}): RemoteLedger {
    return new Proxy(others as RemoteLedger, {
      get: (_, method: keyof JobLedger) =>
        others[method] ?? ((...args: unknown[]) => this.step(method, args)),
    });
  }

  async step(method: LedgerStep['method'], args: readonly unknown[]): Promise<unknown> {
    if (method === 'create' && this.#batches.waiting >= MAX_WAITING) throw failure('engine_busy');
    const reply: LedgerReply | undefined = await this.#batches.add({ method, args });
    if (reply === undefined) throw new FabricError('INTERNAL', 'A step of a job has no reply');
    if ('problem' in reply) throw fromProblem(reply.problem);
    return reply.value;
  }

  idle(): Promise<void> {
    return this.#batches.idle();
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
