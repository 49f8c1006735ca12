// One call as it is observed, from its start to its end: the numbers, the spans of it and of its attempts
// and the one line in the log all come from here.

import {
  childTrace,
  type EventType,
  type FabricError,
  type Log,
  type LogFields,
  type Trace,
} from '@starloom/core';
import type { PreparedCall } from '../pipeline/prepare.ts';
import { elapsedMs, spanLog } from './active-request.ts';
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
import { clip } from './log-lines.ts';
import type {
  ActiveAttempt,
  ActiveCall,
  AttemptOutcome,
  AttemptStart,
  CallEntry,
  CallOutcome,
  CallStart,
  ObserverParts,
} from './observer.ts';
import { toErrorFields } from './redact.ts';
import { recordAttemptSpan, recordCallSpan } from './spans.ts';

const MAX_NAME = 128;

/** Returns what begins to observe a call. */
export function callObserver(parts: ObserverParts): (call: CallStart) => ActiveCall {
  return (call) => new ObservedCall(call, parts.hashes.of(call.principal), parts);
}

class ObservedCall implements ActiveCall {
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
    if (this.#parts.tracing.enabled)
      recordCallSpan(this.#parts, this.#start, entry, outcome, this.#startMs);
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
    if (this.#parts.tracing.enabled) this.#recordSpan(outcome);
    if (!this.#draft) return;
    this.#draft.ms = elapsedMs(this.#parts, this.#startedAt);
    endAttempt(this.#draft, outcome);
  }

  #recordSpan(outcome: AttemptOutcome): void {
    const endMs = this.#startMs + elapsedMs(this.#parts, this.#startedAt);
    const about = {
      trace: this.trace,
      capability: this.#capability,
      startMs: this.#startMs,
      endMs,
    };
    recordAttemptSpan(this.#parts, this.#info, outcome, about);
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
