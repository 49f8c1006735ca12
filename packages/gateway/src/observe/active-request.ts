// One request of any face, from its first byte to its answer. A call of an agent is written down by the
// pipeline; every other request, refused or served, has its line, its span and its numbers from here.

import {
  ERRORS,
  type ErrorCode,
  FabricError,
  isErrorCode,
  isObject,
  META,
  type Trace,
  toW3cSpanId,
  toW3cTraceId,
} from '@starloom/core';
import type { Principal } from '@starloom/identity';
import type { Caller } from '../pipeline/call-request.ts';
import { answerTrace } from '../pipeline/origin.ts';
import { failureText } from './active-attempt.ts';
import { elapsedMs, type ObserverParts } from './observer-parts.ts';
import { clip, toErrorFields } from './redact.ts';
import { requestAttributes, serverSpanName } from './telemetry-names.ts';

/** What a request is for; `http` until that is known. */
export type Face = 'mcp' | 'rpc' | 'a2a' | 'http';

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
  readonly #startedAt: number;
  #method: string;
  #name = '';
  #id: string | number | undefined;
  #meta = NO_META;
  #trace: Trace | undefined;
  #error: FabricError | undefined;
  #credential: string | undefined;
  #isOver = false;

  constructor(start: RequestStart, parts: ObserverParts) {
    this.face = start.face;
    this.principal = start.principal;
    this.#start = start;
    this.#parts = parts;
    this.#startedAt = parts.clock.monotonic();
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

  /** Only the first end counts. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { metrics, tracing, refusals } = this.#parts;
    const ms = elapsedMs(this.#parts, this.#startedAt);
    const code = this.#error?.code ?? null;
    metrics.requestEnded({ face: this.face, method: this.#method, code, ms });
    if (!this.principal && this.#error && !refusals.mayWrite()) return;
    if (tracing.enabled) this.#recordSpan(ms);
    this.#writeLine(ms, code);
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
      failure: this.#error && failureText({ ok: false, error: this.#error }),
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
