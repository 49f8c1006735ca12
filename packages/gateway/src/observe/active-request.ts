// One request of any face, from its first byte to its answer. A call of an agent is written down by the
// pipeline; every other request, refused or served, has its line, its span and its numbers from here.

import { hash } from 'node:crypto';
import {
  type Clock,
  ERRORS,
  type ErrorCode,
  FabricError,
  isErrorCode,
  isObject,
  type Log,
  META,
  type Trace,
  toW3cSpanId,
  toW3cTraceId,
} from '@starloom/core';
import type { Principal } from '@starloom/identity';
import type { Telemetry } from '@starloom/wire';
import type { Caller } from '../pipeline/call-request.ts';
import { answerTrace } from '../pipeline/origin.ts';
import { addFailure, clipName, type JournalRecorder } from './journal-recorder.ts';
import type { RootLog } from './log.ts';
import type { Metrics } from './metrics.ts';
import { clip, redactText, toErrorFields } from './redact.ts';
import { requestAttributes, serverSpanName } from './telemetry-names.ts';

/** What a request is for; `http` until that is known. */
export type Face = 'mcp' | 'rpc' | 'a2a' | 'console' | 'http';

export interface RequestStart {
  readonly face: Face;
  readonly transport: Caller['transport'] | 'grpc';
  /** Lower-case names. */
  readonly headers: Caller['headers'];
  readonly principal?: Principal | undefined;
  /** Of HTTP or gRPC; a JSON-RPC message brings its own. */
  readonly method?: string | undefined;
  /** A JSON-RPC message or a batch of them. */
  readonly message?: unknown;
}

const MAX_NAME = 128;
const NO_META: Caller['meta'] = Object.freeze({});

export class ActiveRequest {
  face: Face;
  principal: Principal | undefined;
  readonly #parts: ObserverParts;
  readonly #start: RequestStart;
  /** On the monotonic clock. */
  readonly startedAt: number;
  #method: string;
  #name = '';
  #id: string | number | undefined;
  #meta = NO_META;
  #trace: Trace | undefined;
  #error: FabricError | undefined;
  #credential: string | undefined;
  #target: Target | undefined;
  #isOver = false;

  constructor(start: RequestStart, parts: ObserverParts) {
    this.face = start.face;
    this.principal = start.principal;
    this.#start = start;
    this.#parts = parts;
    this.startedAt = parts.clock.monotonic();
    this.#method = start.method ?? '';
    if (start.message !== undefined) this.read(start.message);
  }

  /** The trace of its answer: the caller's, when it named one. */
  get trace(): Trace {
    const { headers } = this.#start;
    this.#trace ??= answerTrace({ headers, meta: this.#meta, principal: this.principal });
    return this.#trace;
  }

  /** The place that the request was given in its trace. */
  follow(trace: Trace): void {
    if (!this.#isBatch) this.#trace = trace;
  }

  /** The operation, where the path says it. */
  isFor(method: string): void {
    this.#method = method;
  }

  /** Takes over what a JSON-RPC message says of itself. */
  read(message: unknown): void {
    if (Array.isArray(message)) this.#method = BATCH;
    if (!isObject(message) || typeof message.method !== 'string') return;
    const { id, method, params } = message;
    this.#method = clip(method, MAX_NAME);
    if (typeof id === 'number') this.#id = id;
    else if (typeof id === 'string') this.#id = clip(id, MAX_NAME);
    if (!isObject(params)) return;
    if (typeof params.name === 'string') this.#name = clip(params.name, MAX_NAME);
    if (isObject(params._meta)) this.#meta = params._meta;
    else if (this.face === 'rpc') this.#meta = { [META.trace]: params.trace_id };
  }

  /** Notes why it fails, and which kind of credential was refused. */
  fail(error: unknown, credential?: string): void {
    if (this.#isBatch) return;
    this.#error ??= FabricError.from(error);
    this.#credential ??= credential;
  }

  /** Notes an error of JSON-RPC, ours or another's. */
  answeredWith(error: unknown): void {
    if (error !== undefined) this.fail(fromRpcError(error));
  }

  /** It is a call, which the pipeline writes down. */
  becomesCall(): void {
    if (!this.#isBatch) this.#isOver = true;
  }

  /** What it would have called. */
  aimedAt(target: Target): void {
    if (!this.#isBatch) this.#target = target;
  }

  /** Only the first end counts. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { metrics, tracing, refusals } = this.#parts;
    const ms = elapsedMs(this.#parts, this.startedAt);
    const code = this.#error?.code ?? null;
    metrics.requestEnded({ face: this.face, method: this.#method, code, ms });
    if (!this.principal && this.#error && !refusals.mayWrite()) return;
    if (tracing.enabled) this.#recordSpan(ms);
    this.#writeLine(ms, code);
    this.#record(ms);
  }

  get #isBatch(): boolean {
    return this.#method === BATCH;
  }

  get #principalHash(): string | null {
    return this.#parts.hashes.of(this.principal?.id ?? null);
  }

  #recordSpan(ms: number): void {
    const { trace } = this;
    const endMs = this.#parts.clock.now();
    this.#parts.tracing.record({
      name: serverSpanName(this.#method, this.#name),
      kind: 'server',
      traceId: toW3cTraceId(trace.trace_id),
      spanId: toW3cSpanId(trace.span_id),
      parentSpanId: trace.parent_span_id === null ? undefined : toW3cSpanId(trace.parent_span_id),
      startMs: endMs - ms,
      endMs,
      failure: this.#error && redactText(this.#error.message),
      attributes: requestAttributes({
        face: this.face,
        transport: this.#start.transport,
        method: this.#method,
        name: this.#name,
        requestId: this.#id,
        principal: this.#principalHash,
        code: this.#error?.code ?? null,
      }),
    });
  }

  /** Calls of our own tools and methods, and what was refused; without a caller it belongs to no one. */
  #record(ms: number): void {
    const { recorder, clock } = this.#parts;
    const { principal } = this;
    if (!recorder || !principal || (this.#error === undefined && !this.#isWorthRecording)) return;
    // The page reads what happened; that it asked for something unknown is no call.
    if (this.face === 'console' && !this.#target) return;
    const draft = recorder.draft({
      trace: this.trace,
      transport: this.#start.transport,
      face: this.face,
      tool: this.#name || this.#method,
      principal,
      beganAt: Math.round(clock.now() - ms),
    });
    draft.agent_id = clipName(this.#target?.agent_id);
    draft.capability = clipName(this.#target?.capability);
    draft.ms = ms;
    draft.ended_at = Math.round(draft.began_at + ms);
    if (this.#error) addFailure(draft, this.#error);
    recorder.ended(draft);
  }

  get #isWorthRecording(): boolean {
    if (UNRECORDED.test(this.#name || this.#method)) return false;
    return this.#method === 'tools/call' || this.face === 'rpc' || this.face === 'a2a';
  }

  #writeLine(ms: number, code: ErrorCode | null): void {
    const { rootLog } = this.#parts;
    const level = this.#error?.row.log ?? 'info';
    if (!rootLog.isEnabled(level)) return;
    const { trace_id, span_id } = this.trace;
    rootLog.writeClean(
      level,
      {
        trace_id,
        span_id,
        principal: this.#principalHash,
        face: this.face,
        transport: this.#start.transport,
        method: this.#method,
        name: this.#name || undefined,
        ok: code === null,
        code,
        ms,
        credential: this.#credential,
        error: this.#error && toErrorFields(this.#error),
      },
      'request',
    );
  }
}

interface Target {
  readonly agent_id?: string | undefined;
  readonly capability: string;
}

/** Signs of life, and readers of the journal itself, would fill it. */
const UNRECORDED = /heartbeat$|^fabric[._](?:calls|usage|health|job[._]list)/;

const BATCH = 'batch';

/** An error of ours says its code itself; else it is the row of its number. */
function fromRpcError(error: unknown): FabricError {
  const { code, message, data } = isObject(error) ? error : {};
  const said = isObject(data) ? (isObject(data.error) ? data.error : data) : {};
  const { code: named, reason, details: why = message } = said;
  const [row] = Object.entries(ERRORS).find(([, { rpc }]) => rpc === code) ?? [];
  const own = isErrorCode(named) ? named : isErrorCode(row) ? row : 'BAD_INPUT';
  return new FabricError(own, typeof why === 'string' ? why : String(message ?? ''), {
    details: { rpc_code: code, ...(typeof reason === 'string' && { reason }) },
  });
}

const REFUSALS_PER_SECOND = 100;

/** Requests without a credential that holds must not fill the log, however many there are. */
export class RefusalLines {
  readonly #parts: Pick<ObserverParts, 'clock' | 'rootLog'>;
  #second = 0;
  #count = 0;

  constructor(parts: Pick<ObserverParts, 'clock' | 'rootLog'>) {
    this.#parts = parts;
  }

  mayWrite(): boolean {
    const second = Math.floor(this.#parts.clock.monotonic() / 1_000);
    if (second !== this.#second) {
      const left = this.#count - REFUSALS_PER_SECOND;
      if (left > 0) this.#parts.rootLog.log.warn({ requests: left }, 'more requests were refused');
      this.#second = second;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= REFUSALS_PER_SECOND;
  }
}

/** Where observations go. */
export interface ObserverParts {
  readonly clock: Clock;
  readonly rootLog: RootLog;
  readonly metrics: Metrics;
  readonly tracing: Telemetry;
  readonly hashes: PrincipalHashes;
  readonly refusals: RefusalLines;
  /** Where calls are written down, once there is a journal. */
  recorder: JournalRecorder | undefined;
}

const MAX_HASHES = 1000;

/** Telemetry distinguishes principals without naming them. */
export class PrincipalHashes {
  readonly #known = new Map<string, string>();

  of(principal: string | null): string | null {
    if (principal === null) return null;
    const known = this.#known.get(principal);
    if (known !== undefined) return known;
    const short = hash('sha256', principal, 'hex').slice(0, 12);
    if (this.#known.size >= MAX_HASHES) this.#known.clear();
    this.#known.set(principal, short);
    return short;
  }
}

/** A logger whose every line names the span. */
export function spanLog({ rootLog }: ObserverParts, { trace_id, span_id }: Trace): Log {
  return rootLog.log.child({ trace_id, span_id });
}

/** Milliseconds since `startedAt` on the monotonic clock, to the microsecond. */
export function elapsedMs({ clock }: ObserverParts, startedAt: number): number {
  return Math.round((clock.monotonic() - startedAt) * 1000) / 1000;
}
