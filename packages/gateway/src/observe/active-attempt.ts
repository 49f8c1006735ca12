import {
  childTrace,
  type FabricError,
  type Log,
  type Trace,
  toW3cSpanId,
  toW3cTraceId,
} from '@starloom/core';
import type { BreakerState } from './metrics.ts';
import { elapsedMs, type ObserverParts, spanLog } from './observer-parts.ts';
import type { CallEntry } from './recent-calls.ts';
import { redactText } from './redact.ts';
import { agentAttributes, agentSpanName } from './telemetry-names.ts';

export interface AttemptStart {
  readonly agentId: string;
  readonly nodeId: string;
  readonly protocol: string;
  readonly index: number;
  /** Another agent than the one that the call was for. */
  readonly isFallback?: boolean | undefined;
  readonly breaker?: BreakerState | undefined;
}

export interface Failure {
  readonly ok: false;
  readonly error: FabricError;
}

export type AttemptOutcome = { readonly ok: true } | Failure;

export interface ActiveAttempt {
  /** A span below the call's: the trace of the envelope that the agent gets. */
  readonly trace: Trace;
  /** Every line has the trace and span of this attempt. */
  readonly log: Log;
  /** Only the first end counts. */
  end(outcome: AttemptOutcome): void;
}

/** One attempt at one agent as it is observed; it ends up in the trail of its call. */
export class ObservedAttempt implements ActiveAttempt {
  readonly trace: Trace;
  readonly #info: AttemptStart;
  readonly #call: CallEntry;
  readonly #parts: ObserverParts;
  /** Milliseconds after the call's start. */
  readonly #began: number;
  readonly #startedAt: number;
  #log: Log | undefined;
  #ended = false;

  constructor(
    info: AttemptStart,
    call: CallEntry,
    parent: Trace,
    began: number,
    parts: ObserverParts,
  ) {
    this.trace = childTrace(parent);
    this.#info = info;
    this.#call = call;
    this.#parts = parts;
    this.#began = began;
    this.#startedAt = parts.clock.monotonic();
  }

  get log(): Log {
    this.#log ??= spanLog(this.#parts, this.trace);
    return this.#log;
  }

  end(outcome: AttemptOutcome): void {
    if (this.#ended) return;
    this.#ended = true;
    const { metrics, tracing } = this.#parts;
    const { agentId, nodeId } = this.#info;
    const ms = elapsedMs(this.#parts, this.#startedAt);
    const attempt = { agent_id: agentId, node_id: nodeId, ms };
    if (outcome.ok) this.#call.attempts.push({ ...attempt, ok: true });
    else this.#call.attempts.push({ ...attempt, ok: false, code: outcome.error.code });
    metrics.attemptEnded(agentId, outcome.ok ? null : outcome.error.code);
    if (tracing.enabled) this.#recordSpan(outcome, ms);
  }

  #recordSpan(outcome: AttemptOutcome, ms: number): void {
    const { agentId, nodeId, protocol, index, breaker } = this.#info;
    const { trace_id, span_id, parent_span_id } = this.trace;
    const startMs = this.#call.started_at + this.#began;
    this.#parts.tracing.record({
      name: agentSpanName(agentId),
      kind: 'client',
      traceId: toW3cTraceId(trace_id),
      spanId: toW3cSpanId(span_id),
      parentSpanId: parent_span_id === null ? undefined : toW3cSpanId(parent_span_id),
      startMs,
      endMs: startMs + ms,
      failure: failureText(outcome),
      attributes: agentAttributes({
        agentId,
        nodeId,
        protocol,
        index,
        breaker,
        capability: this.#call.capability,
        code: outcome.ok ? null : outcome.error.code,
      }),
    });
  }
}

/** What the status of a span says. */
export function failureText(outcome: { readonly ok: true } | Failure): string | undefined {
  return outcome.ok ? undefined : redactText(outcome.error.message);
}
