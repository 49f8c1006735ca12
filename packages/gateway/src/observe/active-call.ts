// One call as it is observed, from its start to its end: the numbers, the spans of it and of its attempts
// and the one line in the log all come from here.

import {
  childTrace,
  type ErrorCode,
  type EventType,
  type FabricError,
  type Log,
  type LogFields,
  type Trace,
  toW3cSpanId,
  toW3cTraceId,
} from '@starloom/core';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';
import type { Dispatched } from '../pipeline/dispatch.ts';
import type { PreparedCall } from '../pipeline/prepare.ts';
import { elapsedMs, type ObserverParts, spanLog } from './active-request.ts';
import {
  type AttemptDraft,
  addAttempt,
  addEvent,
  addFailure,
  addRequest,
  addRoute,
  type CallDraft,
  faceOf,
  sizeOf,
  toPayloadText,
} from './journal-recorder.ts';
import type { BreakerState } from './metrics.ts';
import { clip, redactText, toErrorFields } from './redact.ts';
import {
  agentAttributes,
  agentSpanName,
  failsInResult,
  jobSpanName,
  serverAttributes,
  serverSpanName,
} from './telemetry-names.ts';

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
  /** The job that the call runs for. */
  readonly job?: JobFacts | undefined;
  /** What the journal takes the rest from. */
  readonly asked?:
    | { readonly request: CallRequest; readonly caller: Caller; readonly chain: readonly string[] }
    | undefined;
}

export interface JobFacts {
  readonly id: string;
  /** Counts from 1. */
  readonly attempt: number;
  /** Whether the call begins, begins again or goes on. */
  readonly mode: string;
}

interface Failure {
  readonly ok: false;
  readonly error: FabricError;
}

export type CallOutcome =
  | {
      readonly ok: true;
      readonly agentId?: string | undefined;
      readonly fallback: boolean;
      readonly result?: Dispatched['result'] | undefined;
    }
  | (Failure & {
      /** The answer is a JSON-RPC error; unset: only when the method is no tool call. */
      readonly protocolError?: boolean | undefined;
    });

export interface AttemptStart {
  readonly agentId: string;
  readonly nodeId: string;
  readonly protocol: string;
  readonly index: number;
  /** Another agent than the one that the call was for. */
  readonly isFallback?: boolean | undefined;
  readonly breaker?: BreakerState | undefined;
}

export type AttemptOutcome = { readonly ok: true } | Failure;

export interface ActiveCall {
  /** Every line has the trace and span of this call. */
  readonly log: Log;
  /** A line of the log, without the cost of a logger where such lines are not written. */
  debug(fields: LogFields, message: string): void;
  /** What the caller asked for, found or not. */
  target(agentId: string | undefined, capability: string): void;
  /** Its candidates are chosen: notes who may serve it, and why. */
  routed(prepared: PreparedCall): void;
  attempt(info: AttemptStart): ActiveAttempt;
  /** A candidate that was passed over without an attempt. */
  skipped(info: AttemptStart, error: FabricError): void;
  /** Counts; the first that is no `status` gives the time to the first event. */
  event(type: EventType): void;
  /** Writes the line of the call. Only the first end counts. */
  end(outcome: CallOutcome): void;
}

export interface ActiveAttempt {
  /** A span below the call's: the trace of the envelope that the agent gets. */
  readonly trace: Trace;
  /** Every line has the trace and span of this attempt. */
  readonly log: Log;
  /** Only the first end counts. */
  end(outcome: AttemptOutcome): void;
}

/** What is known of a call: its line in the log, in this order. */
export interface CallEntry {
  readonly trace_id: string;
  readonly span_id: string;
  /** A hash, never the name. */
  readonly principal: string | null;
  readonly tool: string;
  /** Of the job that it runs for. */
  readonly job_id: string | undefined;
  agent_id: string | null;
  capability: string | null;
  /** `null` while the call runs; so are `ms` and, unless it failed, `code`. */
  ok: boolean | null;
  code: ErrorCode | null;
  ms: number | null;
  attempts: number;
  fallback: boolean;
  readonly stream: boolean;
  events: number;
  first_event_ms: number | null;
}

const MAX_NAME = 128;

export class ObservedCall implements ActiveCall {
  readonly #parts: ObserverParts;
  readonly #start: CallStart;
  readonly #entry: CallEntry;
  readonly #startedAt: number;
  readonly #startMs: number;
  #log: Log | undefined;
  readonly #draft: CallDraft | undefined;
  readonly #place: number | undefined;
  /** How long the request was there before it became a call. */
  readonly #admittedMs: number = 0;

  constructor(start: CallStart, principal: string | null, parts: ObserverParts) {
    const { trace, name, stream } = start;
    this.#parts = parts;
    this.#start = start;
    this.#startedAt = parts.clock.monotonic();
    this.#startMs = parts.clock.now();
    this.#entry = {
      trace_id: trace.trace_id,
      span_id: trace.span_id,
      principal,
      tool: clip(name, MAX_NAME),
      job_id: start.job?.id,
      agent_id: null,
      capability: null,
      ok: null,
      code: null,
      ms: null,
      attempts: 0,
      fallback: false,
      stream,
      events: 0,
      first_event_ms: null,
    };
    parts.metrics.callStarted();
    const { recorder } = parts;
    if (!recorder || !start.asked) return;
    const { caller } = start.asked;
    this.#admittedMs = caller.request ? elapsedMs(parts, caller.request.startedAt) : 0;
    this.#draft = recorder.draft({
      trace,
      parentSpanId: start.parentSpanId,
      transport: start.transport,
      face: faceOf(caller),
      tool: name,
      principal: caller.principal,
      beganAt: Math.round(this.#startMs - this.#admittedMs),
    });
    this.#draft.depth = start.depth ?? 1;
    this.#draft.admitted_ms = this.#admittedMs;
    if (caller.job) this.#draft.job_id = caller.job.id;
    addRequest(this.#draft, start.asked, recorder.keepsPayloads);
    this.#place = recorder.began(this.#draft);
  }

  get log(): Log {
    this.#log ??= spanLog(this.#parts, this.#start.trace);
    return this.#log;
  }

  debug(fields: LogFields, message: string): void {
    if (this.#parts.rootLog.isEnabled('debug')) this.log.debug(fields, message);
  }

  target(agentId: string | undefined, capability: string): void {
    this.#entry.agent_id = agentId === undefined ? null : clip(agentId, MAX_NAME);
    this.#entry.capability = clip(capability, MAX_NAME);
  }

  attempt(info: AttemptStart): ActiveAttempt {
    const entry = this.#entry;
    entry.attempts += 1;
    entry.agent_id = info.agentId;
    entry.fallback = info.isFallback === true;
    const elapsed = this.#elapsed();
    const draft = this.#draft && toAttemptDraft(info, this.#since(elapsed));
    if (this.#draft && draft) addAttempt(this.#draft, draft);
    const at = { parent: this.#start.trace, startMs: this.#startMs + elapsed, draft };
    const attempt = new ObservedAttempt(info, entry.capability, at, this.#parts);
    if (draft) draft.span_id = attempt.trace.span_id;
    return attempt;
  }

  routed(prepared: PreparedCall): void {
    const [{ record, capability }] = prepared.candidates;
    this.target(record.manifest.agent_id, capability.name);
    if (!this.#draft) return;
    this.#draft.routed_ms = this.#since();
    addRoute(this.#draft, prepared);
  }

  skipped(info: AttemptStart, error: FabricError): void {
    if (!this.#draft) return;
    const draft = toAttemptDraft(info, this.#since());
    addAttempt(this.#draft, draft);
    draft.ms = 0;
    endAttempt(draft, { ok: false, error });
    draft.sent = false;
  }

  event(type: EventType): void {
    const entry = this.#entry;
    entry.events += 1;
    const isFirst = entry.first_event_ms === null && type !== 'status';
    if (isFirst || this.#draft) {
      const elapsed = this.#elapsed();
      if (isFirst) entry.first_event_ms = elapsed;
      if (this.#draft) addEvent(this.#draft, type, this.#since(elapsed));
    }
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
    this.#parts.metrics.callEnded(entry, entry.ms);
    if (this.#parts.tracing.enabled) this.#recordSpan(outcome, entry.ms);
    this.#writeLine(outcome);
    this.#record(outcome, entry.ms);
  }

  #record(outcome: CallOutcome, ms: number): void {
    const draft = this.#draft;
    const { recorder } = this.#parts;
    if (!draft || !recorder) return;
    draft.ms = this.#since(ms);
    draft.ended_at = Math.round(draft.began_at + draft.ms);
    if (outcome.ok) {
      draft.agent_id = this.#entry.agent_id;
      draft.fallback = outcome.fallback;
      draft.bytes_out = sizeOf(outcome.result);
      if (recorder.keepsPayloads) draft.output = toPayloadText({ result: outcome.result });
    } else {
      addFailure(draft, outcome.error);
    }
    recorder.ended(draft, this.#place);
  }

  /** After the beginning of the request, to the microsecond. */
  #since(elapsed = this.#elapsed()): number {
    return Math.round((this.#admittedMs + elapsed) * 1_000) / 1_000;
  }

  #elapsed(): number {
    return elapsedMs(this.#parts, this.#startedAt);
  }

  #recordSpan(outcome: CallOutcome, ms: number): void {
    const { trace, method, requestId, job } = this.#start;
    const entry = this.#entry;
    const parent = this.#start.parentSpanId ?? trace.parent_span_id;
    const named = outcome.ok ? undefined : outcome.protocolError;
    const id = typeof requestId === 'string' ? clip(requestId, MAX_NAME) : requestId;
    this.#parts.tracing.record({
      name: job ? jobSpanName(entry.capability) : serverSpanName(method, entry.tool),
      kind: job ? 'consumer' : 'server',
      traceId: toW3cTraceId(trace.trace_id),
      spanId: toW3cSpanId(trace.span_id),
      parentSpanId: parent === null ? undefined : toW3cSpanId(parent),
      startMs: this.#startMs,
      endMs: this.#startMs + ms,
      failure: failureText(outcome),
      attributes: serverAttributes(
        { ...this.#start, requestId: id },
        entry,
        named ?? !failsInResult(method),
      ),
    });
  }

  #writeLine(outcome: CallOutcome): void {
    const { rootLog } = this.#parts;
    const level = outcome.ok ? 'info' : outcome.error.row.log;
    if (!rootLog.isEnabled(level)) return;
    const entry = this.#entry;
    const fields = outcome.ok ? entry : { ...entry, error: toErrorFields(outcome.error) };
    rootLog.writeClean(level, fields, 'call');
  }
}

/** One attempt at one agent as it is observed. */
class ObservedAttempt implements ActiveAttempt {
  readonly trace: Trace;
  readonly #info: AttemptStart;
  readonly #capability: string | null;
  readonly #parts: ObserverParts;
  readonly #startMs: number;
  readonly #startedAt: number;
  #log: Log | undefined;
  readonly #draft: AttemptDraft | undefined;
  #ended = false;

  constructor(
    info: AttemptStart,
    capability: string | null,
    at: {
      readonly parent: Trace;
      readonly startMs: number;
      readonly draft: AttemptDraft | undefined;
    },
    parts: ObserverParts,
  ) {
    this.trace = childTrace(at.parent);
    this.#info = info;
    this.#capability = capability;
    this.#parts = parts;
    this.#startMs = at.startMs;
    this.#draft = at.draft;
    this.#startedAt = parts.clock.monotonic();
  }

  get log(): Log {
    this.#log ??= spanLog(this.#parts, this.trace);
    return this.#log;
  }

  end(outcome: AttemptOutcome): void {
    if (this.#ended) return;
    this.#ended = true;
    const code = outcome.ok ? null : outcome.error.code;
    this.#parts.metrics.attemptEnded(this.#info.agentId, code);
    if (this.#parts.tracing.enabled) this.#recordSpan(outcome, code);
    if (!this.#draft) return;
    this.#draft.ms = elapsedMs(this.#parts, this.#startedAt);
    endAttempt(this.#draft, outcome);
  }

  #recordSpan(outcome: AttemptOutcome, code: ErrorCode | null): void {
    const { trace_id, span_id, parent_span_id } = this.trace;
    this.#parts.tracing.record({
      name: agentSpanName(this.#info.agentId),
      kind: 'client',
      traceId: toW3cTraceId(trace_id),
      spanId: toW3cSpanId(span_id),
      parentSpanId: parent_span_id === null ? undefined : toW3cSpanId(parent_span_id),
      startMs: this.#startMs,
      endMs: this.#startMs + elapsedMs(this.#parts, this.#startedAt),
      failure: failureText(outcome),
      attributes: agentAttributes(this.#info, this.#capability, code),
    });
  }
}

function toAttemptDraft(info: AttemptStart, began_ms: number): AttemptDraft {
  const { agentId: agent_id, nodeId: node_id, protocol, isFallback = false } = info;
  return { agent_id, node_id, protocol, fallback: isFallback, began_ms, ms: null, code: null };
}

function endAttempt(draft: AttemptDraft, outcome: AttemptOutcome): void {
  if (outcome.ok) {
    draft.sent = true;
    return;
  }
  const { code, details } = outcome.error;
  draft.code = code;
  if (typeof details.reason === 'string') draft.reason = clip(details.reason, MAX_NAME);
  if (typeof details.sent === 'boolean') draft.sent = details.sent;
}

/** What the status of a span says. */
function failureText(outcome: { readonly ok: true } | Failure): string | undefined {
  return outcome.ok ? undefined : redactText(outcome.error.message);
}
