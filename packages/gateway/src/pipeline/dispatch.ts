// Walks the candidates of a route until one answers: breaker, time limits, fallback rules, attempt
// trail. Which errors lead to the next candidate is read from the error table; whether a call that
// may have had effects may be tried elsewhere follows the idempotency rule of the contracts.

import {
  type AgentHandle,
  type AskOptions,
  type Attempt,
  type Auth,
  type CallResult,
  type Clock,
  Deadline,
  defaultDeadlineMs,
  type Envelope,
  type ErrorDetails,
  type EventBody,
  extendChain,
  FabricError,
  findCapability,
  type InputRequest,
  type InputResponse,
  type Log,
  orAborted,
  protocolOf,
  type RecursionGuard,
  type Registry,
  ResultFold,
  toHealthReason,
} from '@starloom/core';
import { type DeadlineSignal, deadlineSignal } from '@starloom/wire';
import type { AdapterLease, AdapterPool } from '../adapter-pool.ts';
import type { ArgumentSchemas } from '../argument-schemas.ts';
import type { InboundWebhooks } from '../inbound-webhooks.ts';
import type { ActiveCall } from '../observe/observer.ts';
import { manifestChanged } from '../pinning/manifest-changed.ts';
import { Announcements } from './announcements.ts';
import { runAttempt } from './attempt.ts';
import { AttemptContext, type AttemptOrigin, type Confirm } from './attempt-context.ts';
import {
  canStream,
  fallsBackOnAnswer,
  isFallback,
  isStreamingPrimary,
  mayGoElsewhere,
  ownTimeoutOf,
  timeoutOf,
  toAttempt,
  wantsEvents,
} from './attempt-rules.ts';
import { deniedBy } from './authorise.ts';
import type { Breakers } from './breaker.ts';
import type { CallLimits } from './call-limits.ts';
import type { CallRequest } from './call-request.ts';
import type { CallSlots } from './call-slots.ts';
import { buildEnvelope, type EnvelopeParts, toInput } from './envelope.ts';
import { exhausted, type FailedAttempt } from './exhausted.ts';
import type { CarriedMandate, Mandated, Mandates } from './mandates.ts';
import { withReadableLinks } from './resource-links.ts';
import { toFormat } from './response-format.ts';
import type { Candidate, Route } from './route.ts';
import type { Asking } from './running-call.ts';

export interface DispatchDeps {
  readonly registry: Registry;
  readonly adapters: AdapterPool;
  readonly webhooks: Pick<InboundWebhooks, 'open'>;
  readonly breakers: Breakers;
  readonly guard: RecursionGuard;
  readonly schemas: ArgumentSchemas;
  readonly agentSlots: CallSlots;
  readonly limits: CallLimits;
  readonly mandates: Mandates;
  readonly clock: Clock;
  readonly log: Log;
  readonly resultLength: number;
  /** Agents whose resources keep their own URIs. */
  readonly unprefixed: readonly string[];
  readonly confirm?: Confirm | undefined;
}

export interface Dispatched {
  readonly result: CallResult;
  readonly agentId: string;
  readonly capability: string;
  /** With which the agent goes on in a next call. */
  readonly kept?: AgentHandle | undefined;
  readonly conversationId?: string | undefined;
  readonly attempts: readonly Attempt[];
  readonly fallback: boolean;
}

export interface DispatchCall extends Mandated, AttemptOrigin {
  readonly request: CallRequest;
  readonly auth: Auth;
  readonly candidates: Route['candidates'];
  readonly observed: ActiveCall;
  readonly signal: AbortSignal;
  /** Asks the caller on behalf of an agent. */
  readonly ask: (
    requests: readonly InputRequest[],
    options: AskOptions,
    by: Asking,
  ) => Promise<InputResponse[]>;
  readonly emit: (body: EventBody, agentId: string) => Promise<void> | undefined;
  /** Awaited before anything reaches an agent. */
  readonly willSend?: (() => Promise<void>) | undefined;
}

export async function dispatch(call: DispatchCall, deps: DispatchDeps): Promise<Dispatched> {
  const walk = new Walk(call, deps);
  try {
    return await walkThrough(walk, call);
  } catch (error) {
    throw walk.outcome(error);
  }
}

async function walkThrough(walk: Walk, call: DispatchCall): Promise<Dispatched> {
  const { candidates } = call;
  const offline: Candidate[] = [];
  for (const candidate of candidates) {
    if (!walk.mayTry(candidate)) continue;
    const { availability } = candidate;
    if (availability === 'offline' || availability === 'denied') {
      walk.skip(candidate, availability);
      if (availability === 'offline') offline.push(candidate);
    } else if (availability === 'held') walk.hold(candidate);
    else if (await walk.try(candidate)) return walk.dispatched();
  }
  for (const candidate of offline) {
    if (walk.mayTry(candidate) && (await walk.try(candidate))) return walk.dispatched();
  }
  const degraded = walk.degraded();
  if (degraded && (await walk.try(degraded, { degrade: true }))) return walk.dispatched();
  throw exhausted(walk.failures, call.request.capability);
}

class Walk {
  readonly failures: FailedAttempt[] = [];
  readonly #call: DispatchCall;
  readonly #deps: DispatchDeps;
  readonly #deadline: Deadline;
  readonly #announcements: Announcements;
  readonly #attempts: Attempt[] = [];
  /** What the caller gave; fitted to each capability in turn. */
  readonly #input: Envelope['input'];
  #answered: Omit<Dispatched, 'attempts' | 'conversationId'> | undefined;
  #broken: Candidate | undefined;
  /** The own error of the primary, while other agents are asked after it. */
  #ownError: FabricError | undefined;

  constructor(call: DispatchCall, deps: DispatchDeps) {
    this.#call = call;
    this.#deps = deps;
    this.#announcements = new Announcements(call);
    const { request, candidates } = call;
    const [{ capability }] = candidates;
    const ownMs = request.deadlineMs ?? capability.deadline_ms;
    const deadlineMs = ownMs ?? defaultDeadlineMs(timeoutOf(request, candidates[0]));
    this.#deadline = new Deadline(deadlineMs, deps.clock);
    this.#input = toInput(request);
  }

  dispatched(): Dispatched {
    if (!this.#answered) throw new FabricError('INTERNAL', 'No agent answered');
    const result = toFormat(this.#answered.result, this.#call.request.format);
    return { ...this.#answered, result, attempts: this.#attempts };
  }

  /** After the own error of the primary only agents that were named for it, and declare the same. */
  mayTry({ kind, record, capability }: Candidate): boolean {
    if (!this.#ownError) return true;
    return kind === 'fallback' && findCapability(record.manifest, capability.name) !== undefined;
  }

  /** What the call ends with: the own error of the primary when no other agent answered. */
  outcome(thrown: unknown): unknown {
    if (!this.#ownError || this.#call.signal.aborted) return thrown;
    return this.#answeredWith(this.#ownError, this.#call.candidates[0]);
  }

  /** A streaming attempt that broke in itself may work without streaming. */
  degraded(): Candidate | undefined {
    return this.#call.request.stream ? this.#broken : undefined;
  }

  skip(candidate: Candidate, why: Exclude<Candidate['availability'], 'ready'>): void {
    const { agent_id } = candidate.record.manifest;
    if (why === 'denied') {
      const target = { agent_id, capability: candidate.capability.name };
      this.#failed(candidate, deniedBy(candidate.decision, target), 0, false);
      return;
    }
    const message = why === 'offline' ? 'is marked offline' : 'failed too often lately';
    const error = new FabricError('AGENT_OFFLINE', `Agent ${agent_id} ${message}`, {
      details: { agent_id, reason: why, sent: false },
    });
    this.#failed(candidate, error, 0, why === 'open-circuit');
  }

  /** What waits for approval is not called; another agent may serve the call. */
  hold(candidate: Candidate): void {
    const { manifest, held } = candidate.record;
    const found = held.find(({ name }) => name === candidate.capability.name);
    if (found) this.#failed(candidate, manifestChanged(manifest.agent_id, found), 0, false);
  }

  /** True when the candidate answered; throws when no other may be tried. */
  async try(
    candidate: Candidate,
    { degrade = candidate.isDegraded ?? false } = {},
  ): Promise<boolean> {
    const { breakers } = this.#deps;
    const { id: principalId } = this.#call.principal;
    const { agent_id } = candidate.record.manifest;
    this.#assertGoesOn();
    if (candidate.availability === 'open-circuit' || !breakers.admit(agent_id, principalId)) {
      this.skip(candidate, 'open-circuit');
      return false;
    }
    const announced = this.#announcements.begin(candidate, this.failures, degrade);
    if (announced) await announced;
    const isImpatient = this.#timeoutFor(candidate) < ownTimeoutOf(candidate);
    const began = this.#deps.clock.monotonic();
    const fold = new ResultFold();
    let kept: AgentHandle | undefined;
    try {
      kept = await this.#attempt(candidate, fold, degrade);
    } catch (thrown) {
      const error = FabricError.from(thrown).with({
        agent_id,
        capability: candidate.capability.name,
      });
      breakers.failed(agent_id, error, { principalId, isImpatient });
      this.#noteHealth(candidate, error);
      this.#failed(candidate, error, this.#deps.clock.monotonic() - began, false);
      if (fold.sawToken) this.#announcements.brokeOff();
      if (error.isAgentAnswer) {
        if (!fallsBackOnAnswer(candidate, fold) && !this.#ownError)
          throw this.#answeredWith(error, candidate);
        this.#ownError ??= error;
        return false;
      }
      if (error.code === 'UPSTREAM_ERROR' && isStreamingPrimary(candidate))
        this.#broken = candidate;
      if (!mayGoElsewhere(error, candidate, fold))
        throw exhausted(this.failures, candidate.capability.name);
      this.#call.observed.log.warn({ agent_id, error }, 'attempt failed, another agent may serve');
      return false;
    }
    breakers.succeeded(agent_id, principalId);
    this.#noteHealth(candidate);
    this.#attempts.push(toAttempt(candidate, this.#deps.clock.monotonic() - began));
    const folded = fold.result();
    if (folded) {
      const { upstream } = folded;
      const result = this.#withLinks({ ...folded }, candidate);
      if (upstream) result.upstream = this.#withLinks(upstream, candidate);
      const fallback = isFallback(candidate);
      const { name: capability } = candidate.capability;
      this.#answered = { result, agentId: agent_id, capability, kept, fallback };
    }
    return true;
  }

  /** The error that an agent answered with, as the outcome of the call. */
  #answeredWith({ code, message, details, cause, answer }: FabricError, by: Candidate) {
    const attempts = [...this.#attempts];
    return new FabricError(code, message, {
      details: { ...details, attempts, fallback: isFallback(by) },
      cause,
      answer: answer && this.#withLinks(answer, by),
    });
  }

  /** Links to resources of an MCP agent are read through the gateway. */
  #withLinks<Answer extends ErrorDetails>(answer: Answer, { record }: Candidate): Answer {
    const { agent_id, endpoint } = record.manifest;
    const isReadable = protocolOf(endpoint) === 'mcp' && !this.#deps.unprefixed.includes(agent_id);
    return isReadable ? withReadableLinks(answer, agent_id) : answer;
  }

  async #attempt(
    candidate: Candidate,
    fold: ResultFold,
    degrade: boolean,
  ): Promise<AgentHandle | undefined> {
    const { guarded, observed, signal } = this.#call;
    const { breakers, guard, schemas, webhooks, confirm } = this.#deps;
    const { capability } = candidate;
    const { manifest } = candidate.record;
    const { agent_id, node_id } = manifest;
    const active = observed.attempt({
      agentId: agent_id,
      nodeId: node_id,
      protocol: protocolOf(manifest.endpoint),
      index: this.#attempts.length,
      isFallback: isFallback(candidate),
      breaker: breakers.state(agent_id),
    });
    const hop = extendChain(guarded.hop, agent_id, capability.name);
    const timeoutMs = this.#timeoutFor(candidate);
    const input = schemas.toInput(capability, this.#input);
    const deadline = deadlineSignal({ ms: timeoutMs, parent: signal });
    const by = { agentId: agent_id, capability: capability.name };
    const ask = (requests: readonly InputRequest[], options: AskOptions = {}) =>
      this.#ask(requests, options, by, fold, deadline);
    const target = { manifest, capability, by, webhooks, confirm };
    const context = new AttemptContext(deadline.signal, active, this.#call, target, ask);
    const { root, originTier } = guarded;
    const agentPrincipal = manifest.auth?.principal;
    const agentId = manifest.endpoint.transport === 'http' ? undefined : agent_id;
    const forget = guard.track(active.trace, hop, { root, originTier, agentPrincipal, agentId });
    try {
      const sent = { trace: active.trace, hop, input, timeoutMs };
      await this.#inSlot(candidate, context, sent, fold, degrade);
      active.end({ ok: true });
      return context.kept;
    } catch (error) {
      active.end({ ok: false, error: FabricError.from(error) });
      throw error;
    } finally {
      forget();
      deadline.cancel();
    }
  }

  /** Waits for the turn of the caller at the agent, and for what the agent wants to be sent. */
  async #inSlot(
    candidate: Candidate,
    context: AttemptContext,
    sent: Pick<EnvelopeParts, 'trace' | 'hop' | 'input' | 'timeoutMs'>,
    fold: ResultFold,
    degrade: boolean,
  ): Promise<void> {
    const { request, principal, auth, emit, willSend } = this.#call;
    const { adapters, resultLength, agentSlots, limits, mandates } = this.#deps;
    const { capability } = candidate;
    const { manifest } = candidate.record;
    const { agent_id } = manifest;
    limits.attempt(agent_id);
    const turn = agentSlots.enter(agent_id, context.signal, principal.id);
    if (turn) await turn;
    let lease: AdapterLease | undefined;
    let mandate: CarriedMandate | undefined;
    try {
      const leased = adapters.lease(manifest);
      lease = leased instanceof Promise ? await leased : leased;
      const minting = mandates.forAttempt(this.#call, manifest, capability.name);
      if (minting) mandate = await minting;
      context.mandate = mandate?.token;
      if (willSend) await willSend();
      await runAttempt(
        lease.adapter,
        buildEnvelope(request, {
          ...sent,
          auth: mandate ? { ...auth, ...mandate.auth } : auth,
          agentId: agent_id,
          capability,
          stream: wantsEvents(request) && canStream(candidate) && !degrade,
          deadlineMs: this.#deadline.remainingMs(),
        }),
        context,
        fold,
        { resultLength },
        (body) => context.stored?.then(() => emit(body, agent_id)) ?? emit(body, agent_id),
      );
    } finally {
      mandate?.release();
      lease?.[Symbol.dispose]();
      agentSlots.leave(agent_id, principal.id);
    }
  }

  #timeoutFor(candidate: Candidate): number {
    return this.#deadline.attemptMs(timeoutOf(this.#call.request, candidate));
  }

  /** While a question is open only its own time runs. */
  async #ask(
    requests: readonly InputRequest[],
    options: AskOptions,
    by: Asking,
    fold: ResultFold,
    deadline: DeadlineSignal,
  ): Promise<InputResponse[]> {
    const { clock } = this.#deps;
    fold.add({ type: 'status', data: { state: 'awaiting_input' } });
    const began = clock.monotonic();
    deadline.pause();
    try {
      return await orAborted(this.#call.ask(requests, options, by), deadline.signal);
    } finally {
      this.#deadline.extend(clock.monotonic() - began);
      deadline.resume();
    }
  }

  #failed(candidate: Candidate, error: FabricError, ms: number, openCircuit: boolean): void {
    const attempt = toAttempt(candidate, ms, error.code);
    this.#attempts.push(attempt);
    this.failures.push({ attempt, error, openCircuit });
  }

  #assertGoesOn(): void {
    const { signal } = this.#call;
    if (signal.aborted) throw FabricError.from(signal.reason);
    if (this.#deadline.passed && this.failures.length > 0) {
      throw exhausted(this.failures, this.#call.request.capability);
    }
    this.#deadline.assertOpen();
  }

  /** A call is also a probe: it tells when an agent went away or came back. */
  #noteHealth({ record }: Candidate, error?: FabricError): void {
    const { agent_id } = record.manifest;
    const status = !error ? 'online' : error.code === 'AGENT_OFFLINE' ? 'offline' : undefined;
    const { registry, clock, log } = this.#deps;
    if (!status || registry.get(agent_id)?.health.status === status) return;
    const checked_at = new Date(clock.now()).toISOString();
    const health = { status, checked_at, ...(error && toHealthReason(error)) } as const;
    registry.updateHealth(agent_id, health).catch((thrown: unknown) => {
      log.warn({ agent_id, error: FabricError.from(thrown) }, 'health could not be recorded');
    });
  }
}
