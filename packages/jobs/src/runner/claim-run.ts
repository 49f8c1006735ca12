// One claim from beginning to end. Whatever happens, the job is brought to its end, given back, or left
// to the worker that has it by now; never two of these.

import {
  type Claim,
  type Clock,
  type EventBody,
  FabricError,
  type JobAnswer,
  type JobEngine,
  type JobInput,
  type Log,
} from '@starloom/core';
import { settlesWithin, streamTurns } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { errorEvent, INPUT_MS } from '../transitions.ts';
import { ClaimLost, EventWriter, persist } from './event-writer.ts';
import type { CancelUpstream, JobRunContext, JobRunResult, RunJob } from './run-job.ts';

export interface ClaimRunOptions {
  readonly engine: JobEngine;
  readonly run: RunJob;
  readonly cancelUpstream: CancelUpstream | undefined;
  readonly leaseMs: number;
  /** So long may a call take to end after its signal aborted. */
  readonly cancelGraceMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

type RunMode = JobRunContext['mode'];

export class ClaimRun {
  readonly claim: Claim;
  readonly #options: ClaimRunOptions;
  readonly #log: Log;
  readonly #call = new AbortController();
  /** Aborts when nothing may be written any more. */
  readonly #lost = new AbortController();
  readonly #writer: EventWriter;
  #isSent = false;
  #hasHandle: boolean;
  #answers: PromiseWithResolvers<readonly JobAnswer[]> | undefined;
  #cancelled = false;

  constructor(claim: Claim, options: ClaimRunOptions) {
    const { engine, clock, log } = options;
    this.claim = claim;
    this.#options = options;
    const { trace_id, span_id } = claim.job.trace;
    this.#log = log.child({ job_id: claim.job.id, trace_id, span_id });
    this.#hasHandle = claim.job.handle !== undefined;
    const signal = this.#lost.signal;
    this.#writer = new EventWriter({ records: engine, claim, clock, log: this.#log, signal });
  }

  /** Never rejects. */
  async work(): Promise<void> {
    try {
      await this.#work();
    } catch (error) {
      if (error instanceof ClaimLost || this.#lost.signal.aborted) {
        this.#log.info({}, 'job: another worker has it');
      } else {
        this.#log.error(
          { err: error },
          'job: could not be brought to its end; its lease will expire',
        );
      }
    }
  }

  /** Another worker has the job, or soon will: ends the call, writes nothing. */
  lose(): void {
    this.#lost.abort(new ClaimLost('the lease is lost'));
    this.#call.abort(failure('claim_lost'));
  }

  /** Passes a cancellation on to the call, once. */
  async cancel(): Promise<void> {
    if (this.#cancelled) return;
    this.#cancelled = true;
    const { engine } = this.#options;
    await this.#persist(() => engine.markCancelDelivered(this.claim)).catch(() => false);
    this.#call.abort(failure('cancelled'));
  }

  /** The attempt waits for answers. */
  get isParked(): boolean {
    return this.#answers !== undefined;
  }

  /** A change of the job: an answer may be there, or a cancellation. */
  async look(): Promise<void> {
    const { engine } = this.#options;
    const job = await engine.get(this.claim.job.id).catch(() => undefined);
    if (job === undefined) return;
    const { state, parked, answers = [] } = job;
    if (state === 'running' && parked) this.#answers?.resolve(answers);
    if (job.cancel !== undefined && this.claim.mode !== 'cancel') await this.cancel();
  }

  /** At shutdown: gives back what was not begun or can be rejoined, leaves the rest to its lease. */
  async abandon(): Promise<void> {
    const { engine } = this.#options;
    const { idempotent } = this.claim.job;
    const mayGoOn = !this.#isSent || idempotent || this.#hasHandle;
    if (mayGoOn) await engine.release(this.claim).catch(() => false);
    this.lose();
  }

  async #work(): Promise<void> {
    const { mode, job } = this.claim;
    await this.#turn();
    switch (mode) {
      case 'start':
      case 'repeat':
      case 'rejoin':
        return this.#run(mode);
      case 'interrupted':
        return this.#fail(
          failure(job.parked ? 'interrupted/asking' : 'interrupted', { job_id: job.id }),
        );
      case 'late':
        return this.#fail(failure('deadline'));
      case 'unanswered':
        return this.#fail(failure('input_expired'));
      case 'cancel':
        return this.#cancelWithoutCall();
    }
  }

  async #run(mode: RunMode): Promise<void> {
    const { job, call } = this.claim;
    if (mode === 'repeat') await this.#writer.emit(RETRYING, job.agent_id ?? 'starloom');
    const timer = this.#startDeadline();
    try {
      const running = this.#options.run(call, this.#context(mode));
      const result = await this.#resultOrForcedEnd(running);
      if (result === undefined) return;
      await this.#writer.flush();
      await this.#succeed(result);
    } catch (error) {
      if (error instanceof ClaimLost) throw error;
      this.#lost.signal.throwIfAborted();
      await this.#writer.flush();
      await this.#failOrRetry(FabricError.from(error));
    } finally {
      clearTimeout(timer);
    }
  }

  #context(mode: RunMode): JobRunContext {
    const { job } = this.claim;
    return {
      job,
      mode,
      ...(job.answers !== undefined && { answers: job.answers }),
      signal: this.#call.signal,
      markSent: () => this.#markSent(),
      keepHandle: async (handle) => {
        const { engine } = this.#options;
        await this.#mustHold(() => engine.keepHandle(this.claim, handle));
        this.#hasHandle = true;
      },
      emit: (body, agentId) => this.#writer.emit(body, agentId),
      ask: (inputs, options) => this.#ask(inputs, options?.expiresAt),
    };
  }

  async #markSent(): Promise<void> {
    this.#call.signal.throwIfAborted();
    if (this.#isSent) return;
    await this.#mustHoldToSend(async () => {
      const isHeld = await this.#options.engine.markSent(this.claim);
      // At once: a job that counts as sent is not given back at a shutdown.
      if (isHeld) this.#isSent = true;
      return isHeld;
    });
    this.#call.signal.throwIfAborted();
  }

  /**
   * A step right before something is sent. Until it is stored and noticed this process may have stood still for as
   * long as its lease lasts, and another worker may have the job.
   */
  async #mustHoldToSend(step: () => Promise<boolean>): Promise<void> {
    const { engine, clock, leaseMs } = this.#options;
    const renew = async () => (await engine.renew([this.claim], leaseMs))[0]?.held === true;
    let since = clock.monotonic();
    await this.#mustHold(step);
    await this.#turn();
    while (clock.monotonic() - since > leaseMs / 2) {
      since = clock.monotonic();
      await this.#mustHold(renew);
    }
  }

  /** Jobs are claimed, and marked, many at a time. */
  async #turn(): Promise<void> {
    await streamTurns.enter(this.claim.job.principal_id);
    this.#lost.signal.throwIfAborted();
  }

  async #ask(inputs: readonly JobInput[], expiresAt = this.#now() + INPUT_MS) {
    const { engine } = this.#options;
    const answers = Promise.withResolvers<readonly JobAnswer[]>();
    this.#answers = answers;
    await this.#writer.flush();
    const asked = this.#writer.stamp(
      toAwaitingInput(inputs),
      this.claim.job.agent_id ?? 'starloom',
    );
    await this.#mustHold(() => engine.ask(this.claim, { inputs, expiresAt }, [asked]));
    this.#writer.startLeg();
    const expiry = setTimeout(
      () => answers.reject(failure('input_expired')),
      expiresAt - this.#now(),
    );
    const onAbort = () => answers.reject(this.#call.signal.reason);
    this.#call.signal.addEventListener('abort', onAbort);
    if (this.#call.signal.aborted) onAbort();
    try {
      const given = await answers.promise;
      await this.#mustHoldToSend(() => engine.resume(this.claim));
      return given;
    } finally {
      this.#answers = undefined;
      clearTimeout(expiry);
      this.#call.signal.removeEventListener('abort', onAbort);
    }
  }

  async #succeed(result: JobRunResult): Promise<void> {
    const { engine } = this.#options;
    if (result.state === 'succeeded') {
      const final = this.#writer.stamp({ type: 'final', data: result.final }, result.agentId);
      const outcome = { state: 'succeeded', result: result.result } as const;
      await this.#mustHold(() => engine.finish(this.claim, outcome, [final]));
      return;
    }
    const { inputs, handle, expiresAt = this.#now() + INPUT_MS } = result;
    const event = this.#writer.stamp(toAwaitingInput(inputs), result.agentId);
    const asked = { inputs, handle, expiresAt };
    await this.#mustHold(() => engine.ask(this.claim, asked, [event]));
  }

  async #failOrRetry(error: FabricError): Promise<void> {
    const { engine } = this.#options;
    if (this.#cancelled) return this.#end('cancelled', cancelledBy(error, true));
    if (!this.#mayRetry(error)) return this.#fail(error);
    const event = this.#writer.stamp(RETRYING, this.claim.job.agent_id ?? 'starloom');
    await this.#mustHold(() => engine.retry(this.claim, [event]));
  }

  /** Only what another attempt may help, and only if it cannot have an effect twice. */
  #mayRetry({ code, row, details }: FabricError): boolean {
    const { attempt, retry, idempotent, deadline_at } = this.claim.job;
    // The call itself was sent before: another attempt would send it twice.
    if (!idempotent && this.claim.mode === 'rejoin') return false;
    if (attempt >= retry.attempts) return false;
    if (deadline_at !== undefined && deadline_at <= this.#now()) return false;
    if (!idempotent && this.#isSent && details.sent !== false) return false;
    if (row.retry === 'yes' || row.retry === 'later') return true;
    const isOwnAnswer = details.reason === 'tool_error' || details.reason === 'too_large';
    return code === 'UPSTREAM_ERROR' && !isOwnAnswer;
  }

  #fail(error: FabricError): Promise<void> {
    return this.#end('failed', error);
  }

  async #end(state: 'failed' | 'cancelled', failure: FabricError): Promise<void> {
    const { engine } = this.#options;
    const { code, message, details } = failure;
    if (code === 'INTERNAL') this.#log.error({ err: failure.cause }, 'job: internal error');
    const error = { code, message, details };
    await this.#mustHold(() => {
      const job = { ...this.claim.job, seq: this.#writer.seq };
      const event = errorEvent(job, error, this.#now());
      return engine.finish(this.claim, { state, error }, [event]);
    });
  }

  /** Of a job that no call of this process runs. */
  async #cancelWithoutCall(): Promise<void> {
    const { engine, cancelUpstream, cancelGraceMs } = this.#options;
    const { job, call } = this.claim;
    let isConfirmed = job.handle === undefined && !job.sent;
    if (job.handle !== undefined && cancelUpstream !== undefined) {
      await this.#mustHold(() => engine.markCancelDelivered(this.claim));
      const signal = AbortSignal.timeout(cancelGraceMs);
      isConfirmed = await cancelUpstream(job, call, signal).then(
        () => true,
        (err: unknown) => {
          this.#log.warn({ err }, 'job: the agent did not confirm the cancellation');
          return false;
        },
      );
    }
    await this.#end('cancelled', cancelledBy(undefined, isConfirmed));
  }

  /** What the call ends with; nothing when it did not end after a cancellation, and the job did. */
  async #resultOrForcedEnd(running: Promise<JobRunResult>): Promise<JobRunResult | undefined> {
    const { signal } = this.#call;
    await Promise.race([running.catch(() => {}), abortOf(signal)]);
    const inTime = settlesWithin(running, this.#options.cancelGraceMs);
    const lost = abortOf(this.#lost.signal).then(() => false);
    if (await Promise.race([inTime, lost])) return running;
    this.#lost.signal.throwIfAborted();
    if (!this.#cancelled) throw signal.reason;
    await this.#writer.flush();
    await this.#end('cancelled', cancelledBy(undefined, false));
    return undefined;
  }

  #startDeadline(): NodeJS.Timeout | undefined {
    const { deadline_at } = this.claim.job;
    if (deadline_at === undefined) return undefined;
    const ms = Math.min(Math.max(0, deadline_at - this.#now()), 2 ** 31 - 1);
    return setTimeout(() => this.#call.abort(failure('deadline')), ms).unref();
  }

  /** Repeats the step while the engine is down; throws when the claim is lost. */
  async #mustHold(step: () => Promise<boolean>): Promise<void> {
    if (await this.#persist(step)) return;
    const lost = new ClaimLost('another worker has the job');
    this.#call.abort(failure('claim_lost', {}, { cause: lost }));
    throw lost;
  }

  #persist<Result>(step: () => Promise<Result>): Promise<Result> {
    return persist(step, { log: this.#log, signal: this.#lost.signal });
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

const RETRYING: EventBody = { type: 'status', data: { state: 'retrying' } };

function toAwaitingInput(inputs: readonly JobInput[]): EventBody {
  return { type: 'status', data: { state: 'awaiting_input', inputs } } as EventBody;
}

function cancelledBy(cause: FabricError | undefined, isConfirmed: boolean): FabricError {
  const forced = isConfirmed ? undefined : true;
  return failure('cancelled', { confirmed: isConfirmed, forced }, cause && { cause });
}
