import type {
  ClaimMode,
  EventBody,
  FinalData,
  Job,
  JobAnswer,
  JobInput,
  UpstreamHandle,
} from '@starloom/core';

/** What a function that runs jobs is given, besides the call. */
export interface JobRunContext {
  readonly job: Job;
  /** `rejoin`: go on with the upstream task of `job.handle`; the call must not be sent again. */
  readonly mode: Extract<ClaimMode, 'start' | 'repeat' | 'rejoin'>;
  /** Answers to what the agent asked before; with `rejoin` only. Used from `markSent` on. */
  readonly answers?: readonly JobAnswer[];
  /** Its reason is a FabricError: CANCELLED, TIMEOUT, or AGENT_OFFLINE when the claim is lost. */
  readonly signal: AbortSignal;
  /**
   * To be awaited before anything of the call may reach an agent, whatever the mode. Rejects when that
   * must not happen any more. From the second time on it does nothing.
   */
  markSent(): Promise<void>;
  /** Stores what names the task at the agent. */
  keepHandle(handle: UpstreamHandle): Promise<void>;
  /** Resolves when the event is stored. Events are stored in the order of the calls. */
  emit(body: Exclude<EventBody, { type: 'final' }>, agentId: string): Promise<void>;
  /**
   * Waits for the answers while the attempt stays open: for agents that cannot be left and rejoined.
   * After a restart of this process the job fails.
   */
  ask(
    inputs: readonly JobInput[],
    options?: { readonly expiresAt?: number },
  ): Promise<readonly JobAnswer[]>;
}

export type JobRunResult =
  | {
      readonly state: 'succeeded';
      readonly agentId: string;
      readonly final: FinalData;
      /** What `fabric.call` would answer. */
      readonly result: unknown;
    }
  | {
      /** The agent keeps the question; the job goes on by its handle. */
      readonly state: 'awaiting_input';
      readonly agentId: string;
      readonly inputs: readonly JobInput[];
      readonly handle: UpstreamHandle;
      readonly expiresAt?: number;
    };

/**
 * Executes the call of a job. Rejects with a FabricError when the call failed; `details.sent` false says
 * that nothing reached an agent. Must end soon after the signal aborted; a promise that stays open is
 * given up after a while.
 */
export type RunJob = (call: unknown, context: JobRunContext) => Promise<JobRunResult>;

/** Tells the agent to stop the task of a handle. */
export type CancelUpstream = (job: Job, call: unknown, signal: AbortSignal) => Promise<void>;
