// Walks the candidates of a route until one answers: breaker, time limits, fallback rules, attempt
// trail. Which errors lead to the next candidate is read from the error table; whether a call that
// may have had effects may be tried elsewhere follows the idempotency rule of the contracts.

import {
  type Attempt,
  type CallContext,
  type CallResult,
  type Clock,
  Deadline,
  type Envelope,
  type ErrorCode,
  type EventBody,
  extendChain,
  FabricError,
  type Log,
  protocolOf,
  type RecursionGuard,
  type Registry,
  ResultFold,
} from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import type { AdapterPool } from '../adapter-pool.ts';
import type { AgentDescriptions } from '../agent-descriptions.ts';
import type { ArgumentSchemas } from '../argument-schemas.ts';
import type { ActiveAttempt, ActiveCall } from '../observe/observer.ts';
import { runAttempt } from './attempt.ts';
import type { Breakers } from './breaker.ts';
import { exhausted, type FailedAttempt } from './exhausted.ts';
import type { Candidate, Route } from './route.ts';

export interface DispatchDeps {
  readonly registry: Registry;
  readonly adapters: AdapterPool;
  readonly breakers: Breakers;
  readonly guard: RecursionGuard;
  readonly schemas: ArgumentSchemas;
  readonly descriptions: AgentDescriptions;
  readonly clock: Clock;
  readonly log: Log;
  readonly resultLength: number;
}

export interface Dispatched {
  readonly result: CallResult;
  readonly agentId: string;
  readonly attempts: readonly Attempt[];
  readonly fallback: boolean;
}

export interface DispatchCall {
  readonly envelope: Envelope;
  readonly candidates: Route['candidates'];
  readonly observed: ActiveCall;
  readonly signal: AbortSignal;
  readonly notify?: CallContext['notify'] | undefined;
  readonly emit: (body: EventBody, agentId: string) => Promise<void> | undefined;
}

export async function dispatch(call: DispatchCall, deps: DispatchDeps): Promise<Dispatched> {
  const walk = new Walk(call, deps);
  const { candidates } = call;
  const offline: Candidate[] = [];
  for (const candidate of candidates) {
    if (candidate.availability === 'offline') {
      walk.skip(candidate, 'offline');
      offline.push(candidate);
    } else if (await walk.try(candidate)) return walk.dispatched();
  }
  for (const candidate of offline) {
    if (await walk.try(candidate)) return walk.dispatched();
  }
  const degraded = walk.degraded();
  if (degraded && (await walk.try(degraded, { degrade: true }))) return walk.dispatched();
  throw exhausted(walk.failures, call.envelope.target.capability);
}

class Walk {
  readonly failures: FailedAttempt[] = [];
  readonly #call: DispatchCall;
  readonly #deps: DispatchDeps;
  readonly #deadline: Deadline;
  readonly #attempts: Attempt[] = [];
  #answered: { result: CallResult; agentId: string } | undefined;
  #tokensSent = false;
  /** Failures the caller was told of. */
  #announced = 0;
  #broken: Candidate | undefined;

  constructor(call: DispatchCall, deps: DispatchDeps) {
    this.#call = call;
    this.#deps = deps;
    const { target } = call.envelope;
    this.#deadline = new Deadline(target.deadline_ms ?? target.timeout_ms, deps.clock);
  }

  dispatched(): Dispatched {
    if (!this.#answered) throw new FabricError('INTERNAL', 'Nobody answered');
    const { result, agentId } = this.#answered;
    const attempts = this.#attempts;
    return { result, agentId, attempts, fallback: attempts.length > 1 };
  }

  /** A streaming attempt that broke in itself may work without streaming. */
  degraded(): Candidate | undefined {
    return this.#call.envelope.response.stream ? this.#broken : undefined;
  }

  skip(candidate: Candidate, why: 'offline' | 'open-circuit'): void {
    const { agent_id } = candidate.record.manifest;
    const message = why === 'offline' ? 'is marked offline' : 'failed too often lately';
    const error = new FabricError('AGENT_OFFLINE', `Agent ${agent_id} ${message}`, {
      details: { agent_id, reason: why, sent: false },
    });
    this.#failed(candidate, error, 0, why === 'open-circuit');
  }

  /** True when the candidate answered; throws when no other may be tried. */
  async try(candidate: Candidate, { degrade = false } = {}): Promise<boolean> {
    const { breakers } = this.#deps;
    const { agent_id } = candidate.record.manifest;
    this.#assertGoesOn();
    if (candidate.availability === 'open-circuit' || !breakers.admit(agent_id)) {
      this.skip(candidate, 'open-circuit');
      return false;
    }
    await this.#announce(candidate, degrade);
    const began = this.#deps.clock.monotonic();
    const fold = new ResultFold();
    try {
      await this.#attempt(candidate, fold, degrade);
    } catch (thrown) {
      const error = FabricError.from(thrown).with({
        agent_id,
        capability: candidate.capability.name,
      });
      breakers.failed(agent_id, error);
      this.#noteHealth(candidate, error.code);
      this.#failed(candidate, error, this.#deps.clock.monotonic() - began, false);
      if (error.code === 'UPSTREAM_ERROR' && candidate.kind === 'primary') this.#broken = candidate;
      if (fold.sawToken) this.#tokensSent = true;
      if (!mayGoElsewhere(error, candidate, fold))
        throw exhausted(this.failures, candidate.capability.name);
      return false;
    }
    breakers.succeeded(agent_id);
    this.#noteHealth(candidate, undefined);
    this.#attempts.push(toAttempt(candidate, this.#deps.clock.monotonic() - began));
    const result = fold.result();
    this.#answered = result && { result, agentId: agent_id };
    return true;
  }

  async #attempt(candidate: Candidate, fold: ResultFold, degrade: boolean): Promise<void> {
    const { envelope, observed, signal, emit, notify } = this.#call;
    const { adapters, breakers, guard, resultLength } = this.#deps;
    const { manifest } = candidate.record;
    const { agent_id, node_id } = manifest;
    const stream = envelope.response.stream && candidate.capability.streaming && !degrade;
    const active = observed.attempt({
      agentId: agent_id,
      nodeId: node_id,
      protocol: protocolOf(manifest.endpoint),
      index: this.#attempts.length,
      breaker: breakers.state(agent_id),
    });
    const hop = extendChain(envelope.hop, agent_id, candidate.capability.name);
    const timeoutMs = this.#deadline.attemptMs(envelope.target.timeout_ms);
    const { schemas, descriptions } = this.#deps;
    const capability = descriptions.knownCapability(manifest, candidate.capability);
    const input = schemas.toInput(capability, envelope.input);
    using deadline = deadlineSignal({ ms: timeoutMs, parent: signal });
    const forget = guard.track(active.trace, hop);
    try {
      using lease = await adapters.lease(manifest);
      await runAttempt(
        lease.adapter,
        {
          ...envelope,
          trace: active.trace,
          target: {
            ...envelope.target,
            agent_id,
            timeout_ms: Math.max(1, Math.ceil(timeoutMs)),
            deadline_ms: Math.max(1, Math.ceil(this.#deadline.remainingMs())),
          },
          input,
          response: { ...envelope.response, stream },
          hop,
        },
        new AttemptContext(deadline.signal, active, notify),
        fold,
        { resultLength },
        (body) => emit(body, agent_id),
      );
      active.end({ ok: true });
    } catch (error) {
      active.end({ ok: false, error: FabricError.from(error) });
      throw error;
    } finally {
      forget();
    }
  }

  async #announce(candidate: Candidate, degrade: boolean): Promise<void> {
    const { emit, envelope } = this.#call;
    const { agent_id } = candidate.record.manifest;
    if (this.#tokensSent) {
      await emit(
        { type: 'status', data: { state: 'discard', message: 'the answer starts anew' } },
        agent_id,
      );
      this.#tokensSent = false;
    }
    const failed = this.failures.slice(this.#announced);
    this.#announced = this.failures.length;
    if (failed.length > 0) {
      const names = failed.map(({ attempt }) => `${attempt.agent_id} (${attempt.code})`);
      const message = `${names.join(', ')} failed, trying ${agent_id}`;
      await emit({ type: 'status', data: { state: 'retrying', message } }, agent_id);
    }
    if (degrade || (envelope.response.stream && !candidate.capability.streaming)) {
      const message = `${agent_id} answers without streaming`;
      await emit({ type: 'status', data: { state: 'degraded', message } }, agent_id);
    }
    const told = emit({ type: 'status', data: { state: 'started' } }, agent_id);
    if (told) await told;
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
      throw exhausted(this.failures, this.#call.envelope.target.capability);
    }
    this.#deadline.assertOpen();
  }

  /** A call is also a probe: it tells when an agent went away or came back. */
  #noteHealth({ record }: Candidate, code: ErrorCode | undefined): void {
    const { agent_id } = record.manifest;
    const status = code === undefined ? 'online' : code === 'AGENT_OFFLINE' ? 'offline' : undefined;
    const { registry, clock, log } = this.#deps;
    if (!status || registry.get(agent_id)?.health.status === status) return;
    const checked_at = new Date(clock.now()).toISOString();
    const message = status === 'offline' ? { message: 'a call could not reach it' } : {};
    registry.updateHealth(agent_id, { status, checked_at, ...message }).catch((error: unknown) => {
      log.warn({ agent_id, error: FabricError.from(error) }, 'health could not be recorded');
    });
  }
}

/** A logger is made only for the attempt that writes to it. */
class AttemptContext implements CallContext {
  readonly signal: AbortSignal;
  readonly notify: CallContext['notify'];
  readonly #active: ActiveAttempt;

  constructor(signal: AbortSignal, active: ActiveAttempt, notify: CallContext['notify']) {
    this.signal = signal;
    this.#active = active;
    this.notify = notify;
  }

  get log(): Log {
    return this.#active.log;
  }
}

function toAttempt({ record }: Candidate, ms: number, code?: ErrorCode): Attempt {
  const { agent_id, node_id } = record.manifest;
  const rounded = Math.round(ms);
  if (code === undefined) return { agent_id, node_id, ok: true, ms: rounded };
  return { agent_id, node_id, ok: false, code, ms: rounded };
}

function mayGoElsewhere(error: FabricError, candidate: Candidate, fold: ResultFold): boolean {
  const { fallback } = error.row;
  if (fallback === 'no') return false;
  if (fallback === 'upstream' && error.details.upstream === undefined) return false;
  const { idempotent } = candidate.capability;
  if (idempotent === true || error.details.sent === false) return true;
  return idempotent === undefined && !fold.sawToolCall;
}
