// Walks the candidates of a route until one answers: breaker, time limits, fallback rules, attempt
// trail. Which errors lead to the next candidate is read from the error table; whether a call that
// may have had effects may be tried elsewhere follows the idempotency rule of the contracts.

import {
  type AgentHandle,
  type Attempt,
  type CallResult,
  DEFAULT_TIMEOUT_MS,
  Deadline,
  defaultDeadlineMs,
  type Envelope,
  type ErrorCode,
  type ErrorDetails,
  FabricError,
  findCapability,
  type Health,
  type Log,
  type Manifest,
  protocolOf,
  type Registry,
  ResultFold,
  toHealthReason,
} from '@starloom/core';
import { manifestChanged } from '../pinning/review.ts';
import { failure } from '../reasons.ts';
import { type AttemptDeps, runAttempt, toInput } from './attempt.ts';
import type { CallRequest } from './call-request.ts';
import { exhausted, type FailedAttempt, fallsBackOnAnswer, mayGoElsewhere } from './exhausted.ts';
import type { Instances } from './instances.ts';
import { deniedBy } from './no-route.ts';
import { toFormat, withReadableLinks } from './respond.ts';
import type { Candidate } from './route.ts';
import type { RunningCall } from './running-call.ts';

export interface DispatchDeps extends AttemptDeps {
  readonly registry: Registry;
  readonly instances: Instances;
  readonly log: Log;
  /** Agents whose resources keep their own URIs. */
  readonly unprefixed: readonly string[];
}

/** What a call came to, spelled as `fabric.call` answers. */
export interface Dispatched {
  readonly result: CallResult;
  readonly agent_id: string;
  readonly capability: string;
  readonly attempts: readonly Attempt[];
  readonly fallback: boolean;
  readonly conversation_id?: string | undefined;
  /** With which the agent goes on in a next call; not shown. */
  readonly kept?: AgentHandle | undefined;
}

export async function dispatch(call: RunningCall, deps: DispatchDeps): Promise<Dispatched> {
  const { candidates, request } = call.prepared;
  const walk = new Walk(call, deps);
  try {
    const offline: Candidate[] = [];
    for (const candidate of candidates) {
      if (!walk.mayTry(candidate)) continue;
      const { availability } = candidate;
      if (availability === 'offline' || availability === 'denied' || availability === 'draining') {
        walk.skip(candidate, availability);
        if (availability === 'offline') offline.push(candidate);
      } else if (availability === 'held') walk.hold(candidate);
      else if (await walk.try(candidate)) return walk.dispatched();
    }
    for (const candidate of offline) {
      if (walk.mayTry(candidate) && (await walk.try(candidate))) return walk.dispatched();
    }
    const degraded = walk.degraded();
    if (degraded && (await walk.try(degraded, true))) return walk.dispatched();
    throw exhausted(walk.failures, request.capability);
  } catch (error) {
    throw walk.outcome(error);
  }
}

class Walk {
  readonly failures: FailedAttempt[] = [];
  readonly #call: RunningCall;
  readonly #request: CallRequest;
  readonly #deps: DispatchDeps;
  readonly #deadline: Deadline;
  readonly #attempts: Attempt[] = [];
  /** What the caller gave; fitted to each capability in turn. */
  readonly #input: Envelope['input'];
  #answered: Omit<Dispatched, 'attempts'> | undefined;
  #broken: Candidate | undefined;
  /** The own error of the primary, while other agents are asked after it. */
  #ownError: FabricError | undefined;
  /** Failures that the caller has received. */
  #announced = 0;
  /** Whether parts of an answer went out that will not be finished. */
  #brokeOff = false;

  constructor(call: RunningCall, deps: DispatchDeps) {
    const { request, candidates } = call.prepared;
    this.#call = call;
    this.#request = request;
    this.#deps = deps;
    const ownMs = request.deadline_ms ?? candidates[0].capability.deadline_ms;
    const deadlineMs = ownMs ?? defaultDeadlineMs(timeoutOf(request, candidates[0]));
    this.#deadline = new Deadline(deadlineMs, deps.clock);
    this.#input = toInput(request);
  }

  dispatched(): Dispatched {
    if (!this.#answered) throw new FabricError('INTERNAL', 'No agent answered');
    const result = toFormat(this.#answered.result, this.#request.format);
    return { ...this.#answered, result, attempts: this.#attempts };
  }

  /** After the own error of the primary only agents that were named for it, and declare the same. */
  mayTry({ kind, record, capability }: Candidate): boolean {
    if (!this.#ownError) return true;
    return kind === 'fallback' && findCapability(record.manifest, capability.name) !== undefined;
  }

  /** What the call ends with: the own error of the primary when no other agent answered. */
  outcome(thrown: unknown): unknown {
    if (!this.#ownError || this.#call.stopped) return thrown;
    return this.#answeredWith(this.#ownError, this.#call.prepared.candidates[0]);
  }

  /** A streaming attempt that broke in itself may work without streaming. */
  degraded(): Candidate | undefined {
    return this.#request.stream ? this.#broken : undefined;
  }

  skip(candidate: Candidate, why: 'offline' | 'draining' | 'open-circuit' | 'denied'): void {
    const { agent_id } = candidate.record.manifest;
    if (why === 'denied') {
      const target = { agent_id, capability: candidate.capability.name };
      this.#passedOver(candidate, deniedBy(candidate.decision, target));
      return;
    }
    this.#passedOver(candidate, failure(why, { agent_id }), why === 'open-circuit');
  }

  /** What waits for approval is not called; another agent may serve the call. */
  hold(candidate: Candidate): void {
    const { manifest, held } = candidate.record;
    const found = held.find(({ name }) => name === candidate.capability.name);
    if (found) this.#passedOver(candidate, manifestChanged(manifest.agent_id, found));
  }

  /** True when the candidate answered; throws when no other may be tried. */
  async try(candidate: Candidate, degrade = candidate.isDegraded ?? false): Promise<boolean> {
    const { breakers, clock, instances } = this.#deps;
    const { circuit } = candidate;
    const principalId = this.#call.prepared.caller.principal.id;
    const { agent_id } = candidate.record.manifest;
    this.#assertGoesOn();
    if (candidate.availability === 'open-circuit' || !breakers.admit(circuit, principalId)) {
      this.skip(candidate, 'open-circuit');
      return false;
    }
    const announced = this.#announce(candidate, degrade);
    if (announced) await announced;
    const timeoutMs = this.#deadline.attemptMs(timeoutOf(this.#request, candidate));
    const began = clock.monotonic();
    const fold = new ResultFold();
    const terms = {
      index: this.#attempts.length,
      input: this.#input,
      timeoutMs,
      deadline: this.#deadline,
      streams: wantsEvents(this.#request) && canStream(candidate) && !degrade,
      fold,
    };
    let kept: AgentHandle | undefined;
    let tookMs = 0;
    const load = instances.begin(candidate.record);
    try {
      kept = await runAttempt(candidate, this.#call, terms, this.#deps);
      tookMs = clock.monotonic() - began;
      instances.end(load, tookMs);
    } catch (thrown) {
      instances.end(load, undefined);
      const capability = candidate.capability.name;
      const error = FabricError.from(thrown).with({ agent_id, capability });
      const isImpatient = timeoutMs < ownTimeoutOf(candidate);
      breakers.failed(circuit, error, { principalId, isImpatient });
      this.#noteHealth(candidate, error);
      this.#failed(candidate, error, clock.monotonic() - began, false);
      if (fold.sawToken) this.#brokeOff = true;
      this.#assertMayGoElsewhere(error, candidate, fold);
      return false;
    }
    breakers.succeeded(circuit, principalId);
    this.#noteHealth(candidate);
    this.#attempts.push(toAttempt(candidate, tookMs));
    this.#answered = this.#toAnswered(candidate, fold, kept);
    return true;
  }

  #toAnswered(candidate: Candidate, fold: ResultFold, kept: AgentHandle | undefined) {
    const folded = fold.result();
    if (!folded) return undefined;
    const { upstream } = folded;
    const result = this.#withLinks({ ...folded }, candidate);
    if (upstream) result.upstream = this.#withLinks(upstream, candidate);
    return {
      result,
      agent_id: candidate.record.manifest.agent_id,
      capability: candidate.capability.name,
      fallback: isFallback(candidate),
      kept,
    };
  }

  /** Throws what the call ends with when no other agent may be asked after this failure. */
  #assertMayGoElsewhere(error: FabricError, candidate: Candidate, fold: ResultFold): void {
    if (error.isAgentAnswer) {
      if (!fallsBackOnAnswer(candidate, fold) && !this.#ownError)
        throw this.#answeredWith(error, candidate);
      this.#ownError ??= error;
      return;
    }
    const { kind, capability, record } = candidate;
    // Only where streaming was promised can it be what broke.
    const isStreamingPrimary = kind === 'primary' && capability.streaming;
    if (error.code === 'UPSTREAM_ERROR' && isStreamingPrimary) this.#broken = candidate;
    if (!mayGoElsewhere(error, candidate, fold)) throw exhausted(this.failures, capability.name);
    const { agent_id } = record.manifest;
    this.#call.observed.log.warn({ agent_id, error }, 'attempt failed, another agent may serve');
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

  #passedOver(candidate: Candidate, error: FabricError, openCircuit = false): void {
    const { agent_id: agentId, node_id: nodeId, endpoint } = candidate.record.manifest;
    const index = this.#attempts.length;
    const about = { agentId, nodeId, protocol: protocolOf(endpoint), index };
    this.#call.observed.skipped({ ...about, isFallback: isFallback(candidate) }, error);
    this.#failed(candidate, error, 0, openCircuit);
  }

  #failed(candidate: Candidate, error: FabricError, ms: number, openCircuit: boolean): void {
    const attempt = toAttempt(candidate, ms, error.code);
    this.#attempts.push(attempt);
    this.failures.push({ attempt, error, openCircuit });
  }

  #assertGoesOn(): void {
    if (this.#call.stopped) throw this.#call.stopped;
    if (this.failures.length > 0 && this.#deadline.passed) {
      throw exhausted(this.failures, this.#request.capability);
    }
    this.#deadline.assertOpen();
  }

  /** A call is also a probe: it tells when an agent went away or came back. */
  #noteHealth({ record }: Candidate, error?: FabricError): void {
    const { agent_id, node_id } = record.manifest;
    const status = !error ? 'online' : error.code === 'AGENT_OFFLINE' ? 'offline' : undefined;
    const { registry, clock, log } = this.#deps;
    if (!status || healthAt(registry, record.manifest)?.status === status) return;
    const checked_at = new Date(clock.now()).toISOString();
    const health = { status, checked_at, ...(error && toHealthReason(error)) } as const;
    registry.updateHealth(agent_id, health, node_id).catch((thrown: unknown) => {
      log.warn({ agent_id, error: FabricError.from(thrown) }, 'health could not be recorded');
    });
  }

  /** What the caller receives before an attempt: who is tried now, and what became of those before. */
  #announce(candidate: Candidate, degrade: boolean): Promise<void> | undefined {
    const isDegraded = degrade || (this.#request.stream && !canStream(candidate));
    if (isDegraded || this.#brokeOff || this.failures.length > this.#announced) {
      return this.#announceChange(candidate, isDegraded);
    }
    return this.#status(candidate, 'started');
  }

  async #announceChange(candidate: Candidate, isDegraded: boolean): Promise<void> {
    const { agent_id } = candidate.record.manifest;
    if (this.#brokeOff) await this.#status(candidate, 'discard', 'the answer starts over');
    this.#brokeOff = false;
    const failed = this.failures.slice(this.#announced);
    this.#announced = this.failures.length;
    if (failed.length > 0) {
      const names = failed.map(({ attempt }) => `${attempt.agent_id} (${attempt.code})`);
      const message = `${names.join(', ')} failed, trying ${agent_id}`;
      await this.#status(candidate, 'retrying', message);
    }
    if (isDegraded) {
      await this.#status(candidate, 'degraded', `${agent_id} answers without streaming`);
    }
    await this.#status(candidate, 'started');
  }

  #status(
    { record }: Candidate,
    state: 'started' | 'discard' | 'retrying' | 'degraded',
    message?: string,
  ): Promise<void> | undefined {
    const data = message === undefined ? { state } : { state, message };
    return this.#call.emit({ type: 'status', data }, record.manifest.agent_id);
  }
}

/** Of the instance, as it is known now. */
function healthAt(registry: Registry, { agent_id, node_id }: Manifest): Health | undefined {
  const record = registry.get(agent_id);
  if (!record || (record.instances?.length ?? 1) <= 1) return record?.health;
  return record.instances.find(({ manifest }) => manifest.node_id === node_id)?.health;
}

function toAttempt({ record }: Candidate, ms: number, code?: ErrorCode): Attempt {
  const { agent_id, node_id } = record.manifest;
  const rounded = Math.round(ms);
  if (code === undefined) return { agent_id, node_id, ok: true, ms: rounded };
  return { agent_id, node_id, ok: false, code, ms: rounded };
}

/** What bounds one attempt: what the caller said, else what the capability says of itself. */
function timeoutOf({ timeout_ms }: CallRequest, candidate: Candidate): number {
  return timeout_ms ?? ownTimeoutOf(candidate);
}

function ownTimeoutOf({ capability }: Candidate): number {
  return capability.timeout_ms ?? DEFAULT_TIMEOUT_MS;
}

/** Tool calls are events: an agent that is not asked for any may report none. */
function wantsEvents({ stream, format }: CallRequest): boolean {
  return stream || format === 'toolcalls';
}

/** Every MCP agent can report progress, whatever its capabilities say of tokens. */
function canStream({ record, capability }: Candidate): boolean {
  return capability.streaming || protocolOf(record.manifest.endpoint) === 'mcp';
}

/** A second attempt at the agent that the call was for is no fallback. */
function isFallback({ kind }: Candidate): boolean {
  return kind !== 'primary';
}
