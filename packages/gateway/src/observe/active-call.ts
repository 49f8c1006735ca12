// One call as it is observed, from its start to its end: the numbers, the span, the record and the
// one line in the log all come from here.

import { type EventType, type Log, type Trace, toW3cSpanId, toW3cTraceId } from '@starloom/core';
import {
  type ActiveAttempt,
  type AttemptStart,
  type Failure,
  failureText,
  ObservedAttempt,
} from './active-attempt.ts';
import { elapsedMs, type ObserverParts, spanLog } from './observer-parts.ts';
import type { CallEntry } from './recent-calls.ts';
import { clip, toErrorFields } from './redact.ts';
import { failsInResult, serverAttributes, serverSpanName } from './telemetry-names.ts';

export interface CallStart {
  readonly trace: Trace;
  readonly transport: string;
  /** Of MCP, such as `tools/call`. */
  readonly method: string;
  /** Of the tool, prompt or resource. */
  readonly name: string;
  readonly principal: string | null;
  readonly stream: boolean;
  readonly protocolVersion?: string | undefined;
  readonly requestId?: string | number | undefined;
  /** The caller's span, unless the trace names it already. */
  readonly parentSpanId?: string | undefined;
  readonly depth?: number | undefined;
}

export type CallOutcome =
  | { readonly ok: true; readonly agentId?: string | undefined; readonly fallback: boolean }
  | (Failure & {
      /** The answer is a JSON-RPC error; unset: only when the method is no tool call. */
      readonly protocolError?: boolean | undefined;
    });

export interface ActiveCall {
  /** Every line has the trace and span of this call. */
  readonly log: Log;
  /** What the caller asked for, found or not. */
  target(agentId: string | undefined, capability: string): void;
  attempt(info: AttemptStart): ActiveAttempt;
  /** Counts; the first that is no `status` gives the time to the first event. */
  event(type: EventType): void;
  /** Writes the line of the call. Only the first end counts. */
  end(outcome: CallOutcome): void;
}

const MAX_NAME = 128;

export class ObservedCall implements ActiveCall {
  readonly #parts: ObserverParts;
  readonly #start: CallStart;
  readonly #entry: CallEntry;
  readonly #startedAt: number;
  #tried = 0;
  #log: Log | undefined;

  constructor(start: CallStart, principal: string | null, parts: ObserverParts) {
    const { trace, name, stream } = start;
    this.#parts = parts;
    this.#start = start;
    this.#startedAt = parts.clock.monotonic();
    this.#entry = {
      trace_id: trace.trace_id,
      span_id: trace.span_id,
      started_at: parts.clock.now(),
      tool: clip(name, MAX_NAME),
      principal,
      stream,
      attempts: [],
      agent_id: null,
      capability: null,
      ms: null,
      ok: null,
      code: null,
      fallback: false,
      events: 0,
      first_event_ms: null,
    };
    parts.metrics.callStarted();
    parts.recentCalls.started(this.#entry);
  }

  get log(): Log {
    this.#log ??= spanLog(this.#parts, this.#start.trace);
    return this.#log;
  }

  target(agentId: string | undefined, capability: string): void {
    this.#entry.agent_id = agentId === undefined ? null : clip(agentId, MAX_NAME);
    this.#entry.capability = clip(capability, MAX_NAME);
  }

  attempt(info: AttemptStart): ActiveAttempt {
    this.#tried += 1;
    this.#entry.agent_id = info.agentId;
    this.#entry.fallback = info.isFallback === true;
    const began = this.#elapsed();
    return new ObservedAttempt(info, this.#entry, this.#start.trace, began, this.#parts);
  }

  event(type: EventType): void {
    const entry = this.#entry;
    entry.events += 1;
    if (entry.first_event_ms === null && type !== 'status') entry.first_event_ms = this.#elapsed();
    this.#parts.metrics.event(type);
  }

  end(outcome: CallOutcome): void {
    const entry = this.#entry;
    if (entry.ok !== null) return;
    entry.ok = outcome.ok;
    entry.ms = this.#elapsed();
    if (outcome.ok) {
      entry.agent_id = outcome.agentId ?? entry.agent_id;
      entry.fallback = outcome.fallback;
    } else {
      entry.code = outcome.error.code;
    }
    this.#measure(entry, entry.ms);
    this.#parts.recentCalls.ended(entry);
    if (this.#parts.tracing.enabled) this.#recordSpan(outcome, entry.ms);
    this.#writeLine(outcome);
  }

  #elapsed(): number {
    return elapsedMs(this.#parts, this.#startedAt);
  }

  #measure(entry: CallEntry, ms: number): void {
    this.#parts.metrics.callEnded({
      agentId: entry.agent_id,
      capability: entry.capability,
      tried: this.#tried > 0,
      code: entry.code,
      fallback: entry.fallback,
      ms,
      firstEventMs: entry.first_event_ms,
    });
  }

  #recordSpan(outcome: CallOutcome, ms: number): void {
    const { trace, transport, method, protocolVersion, requestId, depth, stream } = this.#start;
    const entry = this.#entry;
    const parent = this.#start.parentSpanId ?? trace.parent_span_id;
    const protocolError = outcome.ok ? undefined : outcome.protocolError;
    this.#parts.tracing.record({
      name: serverSpanName(method, entry.tool),
      kind: 'server',
      traceId: toW3cTraceId(trace.trace_id),
      spanId: toW3cSpanId(trace.span_id),
      parentSpanId: parent === null ? undefined : toW3cSpanId(parent),
      startMs: entry.started_at,
      endMs: entry.started_at + ms,
      failure: failureText(outcome),
      attributes: serverAttributes({
        transport,
        method,
        name: entry.tool,
        protocolVersion,
        requestId: typeof requestId === 'string' ? clip(requestId, MAX_NAME) : requestId,
        depth,
        principal: entry.principal,
        agentId: entry.agent_id,
        capability: entry.capability,
        stream,
        events: entry.events,
        firstEventMs: entry.first_event_ms,
        attempts: this.#tried,
        fallback: entry.fallback,
        code: entry.code,
        protocolError: protocolError ?? !failsInResult(method),
      }),
    });
  }

  #writeLine(outcome: CallOutcome): void {
    const { rootLog } = this.#parts;
    const level = outcome.ok ? 'info' : outcome.error.row.log;
    if (!rootLog.isEnabled(level)) return;
    const entry = this.#entry;
    rootLog.writeClean(
      level,
      {
        trace_id: entry.trace_id,
        span_id: entry.span_id,
        principal: entry.principal,
        tool: entry.tool,
        agent_id: entry.agent_id,
        capability: entry.capability,
        ok: entry.ok,
        code: entry.code,
        ms: entry.ms,
        attempts: this.#tried,
        fallback: entry.fallback,
        stream: entry.stream,
        events: entry.events,
        first_event_ms: entry.first_event_ms,
        error: outcome.ok ? undefined : toErrorFields(outcome.error),
      },
      'call',
    );
  }
}
