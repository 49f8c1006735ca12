// Calls as durable jobs: an accepted call is stored with its principal and its place in its trace, and
// runs through the same pipeline as any other, by whichever gateway claims it.

import {
  type AgentRecord,
  FabricError,
  type FabricEvent,
  findCapability,
  type GivenInput,
  type InputRequest,
  type Job,
  type JobEngine,
  type JobWebhook,
  type StoredJob,
  toMeta,
} from '@starloom/core';
import { denied, type Principal } from '@starloom/identity';
import {
  INPUT_MS,
  JobDesk,
  JobRunner,
  type JobRunResult,
  jobNotFound,
  type RunJob,
  WebhookSender,
} from '@starloom/jobs';
import { createAddressGuard, streamTurns } from '@starloom/wire';
import type { GatewayConfig } from '../config.ts';
import { auditRefusal } from '../pipeline/audit-call.ts';
import { type CallDeps, DISCOVERY_WAIT_MS, runCall, toLastEvent } from '../pipeline/call.ts';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';
import { META_DELEGATE } from '../pipeline/mandates.ts';
import { answerTrace, passedMeta } from '../pipeline/origin.ts';
import { enter, prepare } from '../pipeline/prepare.ts';
import { toCallResult } from '../pipeline/respond.ts';
import { failure } from '../reasons.ts';
import {
  fromStored,
  HOUR_MS,
  type JobCall,
  type ScheduledCall,
  toRetry,
  toScheduledJob,
  toStored,
} from './job-call.ts';

interface JobCallsOptions {
  readonly engine: JobEngine;
  readonly rules: GatewayConfig['jobs'];
  readonly deps: CallDeps;
}

/** What a call asks of its job, besides the call. */
interface JobTerms {
  /** The defaults of an asynchronous call: an hour per attempt, no deadline. */
  readonly isLong: boolean;
  readonly runAt?: number | undefined;
  readonly priority?: number | undefined;
  readonly webhook?: JobWebhook | undefined;
  /** The caller reads the result as the agent wrote it. */
  readonly isTask?: boolean | undefined;
  /** What the face finds the job by, and what it keeps of the request. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly source?: unknown;
}

const SCHEDULE_MS = 10_000;
const NO_DEADLINE_MS = 365 * 24 * HOUR_MS;
/** A longer answer of an agent that failed is not kept in the record of its job. */
const MAX_ANSWER_LENGTH = 64 * 1024;

export class JobCalls {
  readonly desk: JobDesk;
  readonly engine: JobEngine;
  /** So long does a job stay at least. */
  readonly keepMs: number;
  readonly #options: JobCallsOptions;
  readonly #runner: JobRunner;
  readonly #webhooks: WebhookSender;
  #scheduling: NodeJS.Timeout | undefined;

  constructor(options: JobCallsOptions) {
    const { engine, rules, deps } = options;
    const { clock, log } = deps;
    this.#options = options;
    this.engine = engine;
    this.keepMs = rules.keep_hours * HOUR_MS;
    const quota = { jobs: rules.per_principal, bytes: rules.bytes_per_principal };
    this.desk = new JobDesk(engine, quota);
    deps.observer.watchJobs(() => engine.counts());
    const guard = createAddressGuard({ allow: rules.webhook_hosts });
    this.#webhooks = new WebhookSender({ guard, log });
    this.#runner = new JobRunner({
      engine,
      run: this.#run,
      cancelUpstream: (job, _call, signal) => this.#cancelUpstream(job, signal),
      webhooks: this.#webhooks,
      concurrency: rules.concurrency,
      ...(rules.per_agent !== undefined && { perAgent: rules.per_agent }),
      keepMs: this.keepMs,
      clock,
      log,
    });
  }

  start(): void {
    this.#runner.start();
  }

  /** Takes over the schedules of the configuration; others are removed. */
  async schedule(schedules: readonly ScheduledCall[]): Promise<void> {
    try {
      await this.#schedule(schedules);
    } catch (thrown) {
      const error = FabricError.from(thrown);
      if (error.details.reason !== 'disk_full') throw error;
      this.#options.deps.log.error(
        { error },
        'the schedules of jobs cannot be stored; trying again',
      );
      const again = () =>
        this.schedule(schedules).catch((failed: unknown) =>
          this.#options.deps.log.error(
            { error: FabricError.from(failed) },
            'jobs have no schedules',
          ),
        );
      this.#scheduling = setTimeout(again, SCHEDULE_MS).unref();
    }
  }

  async #schedule(schedules: readonly ScheduledCall[]): Promise<void> {
    const { registry } = this.#options.deps;
    const names = new Set(schedules.map(({ name }) => name));
    for (const { name } of await this.engine.schedules()) {
      if (!names.has(name)) await this.engine.unschedule(name);
    }
    for (const scheduled of schedules) {
      const { name, cron, timezone, agentId, capability } = scheduled;
      const record = registry.get(agentId);
      const job = toScheduledJob(scheduled, record && findCapability(record, capability));
      await this.engine.schedule({ name, cron, timezone, job });
    }
  }

  /** Waits for what runs, then leaves it to the next start, or to another gateway. */
  async stop(graceMs: number): Promise<void> {
    clearTimeout(this.#scheduling);
    await this.#runner.stop({ graceMs });
    await this.#webhooks.close();
  }

  /** The call is checked as far as it can be without an agent, and durable when this resolves. */
  async submit(request: CallRequest, caller: Caller, terms: JobTerms) {
    try {
      const accepted = await this.#submit(request, caller, terms);
      // Jobs are stored many at a time.
      await streamTurns.enter(caller.principal.id);
      return accepted;
    } catch (thrown) {
      const error = FabricError.from(thrown);
      auditRefusal(request, caller, answerTrace(caller), error, this.#options.deps);
      throw error;
    }
  }

  async #submit(request: CallRequest, caller: Caller, terms: JobTerms) {
    const { deps } = this.#options;
    const { principal } = caller;
    const { idempotency_key: idempotencyKey, agent_id: agentId } = request;
    const { isLong, runAt, webhook, isTask, labels, source, priority } = terms;
    if (webhook) this.#webhooks.assertAllowed(webhook.url);
    this.#assertAhead(runAt);
    const isCharged = deps.limits.isCharged(principal, idempotencyKey);
    const guarded = await enter(caller, deps, isCharged);
    const beginBy = deps.mandates.beginBy(principal, deps.clock.now(), runAt);
    const waitMs = DISCOVERY_WAIT_MS;
    const prepared = await prepare(request, caller, guarded, deps, { at: runAt, waitMs });
    const { capability } = prepared.candidates[0];
    const ownMs = request.timeout_ms ?? capability.timeout_ms;
    const timeout_ms = ownMs ?? (isLong ? HOUR_MS : undefined);
    const deadlineMs = request.deadline_ms ?? capability.deadline_ms;
    const call: JobCall = {
      request: toStored({ ...prepared.request, timeout_ms, stream: true }),
      principal,
      hop: guarded.hop,
      originTier: guarded.originTier,
      beginBy,
      delegate: prepared.delegate,
      meta: passedMeta(caller.meta),
      ...(isTask && { isTask, declared: caller.declared }),
      source,
    };
    const { sessionId: _, idempotencyKey: __, stream: ___, ...asked } = toStored(prepared.request);
    if (!isCharged) deps.limits.spend(principal, capability.cost);
    const accepted = await this.desk.submit({
      principalId: principal.id,
      capability: capability.name,
      ...(agentId !== undefined && { agentId }),
      trace: guarded.trace,
      call,
      asked: JSON.parse(JSON.stringify(asked)),
      idempotent: capability.idempotent === true,
      timeoutMs: timeout_ms ?? HOUR_MS,
      retry: toRetry(capability),
      ...(deadlineMs !== undefined && { deadlineMs }),
      ...(runAt !== undefined && { runAt }),
      ...(priority !== undefined && { priority }),
      ...(webhook !== undefined && { webhook }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(labels !== undefined && { labels }),
    });
    const isRepetition = !accepted.created && !isCharged;
    if (isRepetition) deps.limits.giveBack(principal, capability.cost);
    deps.limits.noteCharged(principal, idempotencyKey);
    return accepted;
  }

  #assertAhead(runAt: number | undefined): void {
    const { rules, deps } = this.#options;
    const latest = deps.clock.now() + rules.ahead_hours * HOUR_MS;
    if (runAt === undefined || runAt <= latest) return;
    throw failure('too_far_ahead', { limit: new Date(latest).toISOString() });
  }

  /** A new job with the call of one that is over. */
  async retry(caller: Caller, id: string): Promise<StoredJob> {
    const { deps } = this.#options;
    const { principal } = caller;
    const { agent_id = '', capability } = await this.find(principal, id);
    const record = deps.registry.get(agent_id);
    await enter(caller, deps);
    deps.limits.spend(principal, record && findCapability(record, capability)?.cost);
    return await this.desk.retry(principal.id, id, deps.clock.now());
  }

  /** A job of the caller whose call it may make; any other looks unknown. */
  async find(principal: Principal, id: unknown): Promise<StoredJob> {
    const job = await this.desk.status(principal.id, id);
    if (this.maySee(principal, job)) return job;
    throw jobNotFound(id);
  }

  /** Another key of the same principal may not use the same agents. */
  maySee(principal: Principal, job: Pick<Job, 'agent_id' | 'capability'>): boolean {
    const { agent_id, capability } = job;
    const { registry, authoriser } = this.#options.deps;
    const named = agent_id === undefined ? undefined : registry.get(agent_id);
    const offering = named ? [named] : registry.findByCapability(capability);
    const mayUse = ({ manifest }: AgentRecord) =>
      authoriser.maySee(principal, manifest, capability);
    return offering.length === 0 || offering.some(mayUse);
  }

  /** What the face kept of the request of a job. */
  async sourceOf({ id }: StoredJob): Promise<unknown> {
    return ((await this.engine.callOf(id)) as JobCall | undefined)?.source;
  }

  /**
   * Answers that do not fit their questions are refused before the job takes them. The job goes on when
   * every question is answered.
   */
  async input(principalId: string, id: string, inputs: readonly GivenInput[]): Promise<StoredJob> {
    const { state, handle } = await this.desk.status(principalId, id);
    if (state === 'awaiting_input' && handle !== undefined) {
      const { conversations } = this.#options.deps;
      conversations.assertFit(String(handle.conversation_id), principalId, inputs);
    }
    return this.desk.input(principalId, id, inputs);
  }

  /** Ends the attempt that waits for an answer, or what runs at the agent without one. */
  async #cancelUpstream({ handle, principal_id }: Job, signal: AbortSignal): Promise<void> {
    const { conversations, parked } = this.#options.deps;
    const id = String(handle?.conversation_id);
    const nonce = conversations.parkedIn(id, principal_id);
    if (nonce === undefined) return this.#stopTask(id, principal_id, signal);
    const reason = new FabricError('CANCELLED', 'The job was cancelled');
    if (!parked.cancel(nonce, reason)) throw new Error('the attempt waits in another process');
  }

  async #stopTask(id: string, principalId: string, signal: AbortSignal): Promise<void> {
    const { deps } = this.#options;
    const { agentId, nodeId, handle } = deps.conversations.find(id, principalId) ?? {};
    const record = agentId === undefined ? undefined : deps.registry.get(agentId);
    const instance = record?.instances?.find((one) => one.manifest.node_id === nodeId);
    const manifest = (instance ?? record)?.manifest;
    if (!manifest || !handle) return;
    using lease = await deps.adapters.lease(manifest);
    await lease.adapter.stop?.(handle, { signal, log: deps.log });
  }

  readonly #run: RunJob = async (given, context): Promise<JobRunResult> => {
    const { principal, originTier, hop, delegate, isTask, declared, meta } = given as JobCall;
    const request = fromStored((given as JobCall).request);
    const { deps } = this.#options;
    const { job, answers } = context;
    using revoked = this.#watch(principal);
    const signal = AbortSignal.any([context.signal, revoked.signal]);
    deps.observer.jobAttempt(context.mode);
    const left =
      job.deadline_at === undefined ? NO_DEADLINE_MS : job.deadline_at - deps.clock.now();
    const asked: CallRequest = {
      ...request,
      deadline_ms: Math.max(1, left),
      ...(job.idempotent && { idempotency_key: request.idempotency_key ?? job.id }),
      ...(context.mode === 'rejoin' && {
        agent_id: undefined,
        conversation_id: String(job.handle?.conversation_id),
        inputs: answers as CallRequest['inputs'],
      }),
    };
    const caller: Caller = {
      principal,
      originTier,
      headers: {},
      meta: {
        ...meta,
        ...toMeta(job.trace, hop),
        ...(delegate && { [META_DELEGATE]: delegate }),
      },
      transport: 'http',
      tool: 'fabric.call',
      declared,
      signal,
      send: async (event) => {
        if (isForwarded(event)) await context.emit(toBody(event), event.agent_id);
      },
      willSend: () => context.markSent(),
      keepRunning: (conversation_id) => context.keepHandle({ conversation_id }),
      isStored: true,
      job: { id: job.id, attempt: job.attempt, mode: context.mode },
      questionMs: INPUT_MS,
      cut: () => {},
    };
    if (context.mode !== 'rejoin') this.#assertMayBegin(given as JobCall, request, caller, job);
    const outcome = await runCall(asked, caller, deps);
    revoked.signal.throwIfAborted();
    if (!outcome.ok) return toQuestion(isTask ? withAnswer(outcome.error) : outcome.error, job);
    const { dispatched, trace } = outcome;
    return {
      state: 'succeeded',
      agentId: dispatched.agent_id,
      final: toLastEvent(dispatched),
      result: {
        ...toCallResult(dispatched, trace).structuredContent,
        ...(isTask && { result: dispatched.result }),
      },
    };
  };

  /** Aborted when the credential that the job was made with, or one above it, is revoked. */
  #watch(principal: Principal): Disposable & { readonly signal: AbortSignal } {
    const { assertCurrent, onCredentials } = this.#options.deps;
    const revoked = new AbortController();
    const unwatch = onCredentials(() => {
      try {
        assertCurrent({ principal, isStored: true });
      } catch (error) {
        revoked.abort(error);
      }
    });
    return { signal: revoked.signal, [Symbol.dispose]: () => unwatch?.() };
  }

  /** What goes on at an agent already, or waits there for an answer, has begun. */
  #assertMayBegin(
    { beginBy = Infinity }: JobCall,
    request: CallRequest,
    caller: Caller,
    job: StoredJob,
  ): void {
    const { deps } = this.#options;
    if (deps.clock.now() <= beginBy) return;
    const fix = 'store the job earlier, or raise "mandates.jobs_ms" of the gateway';
    const error = denied('expired', 'The time to begin a job of this mandate is over', fix);
    auditRefusal(request, caller, job.trace, error, deps);
    throw error;
  }
}

/** A question that can be answered later keeps the job waiting; any other failure is the call's. */
function toQuestion(error: FabricError, { agent_id }: StoredJob): JobRunResult {
  const { inputs, conversation_id } = error.details;
  if (error.code !== 'INPUT_REQUIRED' || typeof conversation_id !== 'string') throw error;
  return {
    state: 'awaiting_input',
    agentId: agent_id ?? 'starloom',
    inputs: inputs as InputRequest[],
    handle: { conversation_id },
  };
}

/** What the agent itself answered, where it can be kept. */
function withAnswer(error: FabricError): FabricError {
  const { answer } = error;
  const isKept = answer !== undefined && JSON.stringify(answer).length <= MAX_ANSWER_LENGTH;
  return isKept ? error.with({ answer }) : error;
}

type Forwarded = Exclude<FabricEvent, { type: 'final' }>;

/** The end and the question are stored with the change of state that they stand for. */
function isForwarded(event: FabricEvent): event is Forwarded {
  if (event.type === 'final') return false;
  return event.type !== 'status' || event.data.state !== 'awaiting_input';
}

function toBody(event: Forwarded) {
  return { type: event.type, data: event.data } as Parameters<Parameters<RunJob>[1]['emit']>[0];
}
