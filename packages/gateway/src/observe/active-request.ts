// One request of any face, from its first byte to its answer. A call of an agent is written down by the
// pipeline; every other request, refused or served, has its line, its span and its numbers from here.

import { hash } from 'node:crypto';
import { FabricError, isObject, type Log, META, type Trace } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import type { Caller } from '../pipeline/call-request.ts';
import { answerTrace } from '../pipeline/origin.ts';
import { clip } from './log-lines.ts';
import type { Face, ObserverParts, RequestStart } from './observer.ts';
import { fromRpcError, recordRequest, type Target } from './request-record.ts';

const MAX_NAME = 128;
const NO_META: Caller['meta'] = Object.freeze({});

/** Returns what begins to observe a request. */
export function requestObserver(parts: ObserverParts): (request: RequestStart) => ActiveRequest {
  return (request) => new ActiveRequest(request, parts);
}

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
    const about = {
      transport: this.#start.transport,
      method: this.#method,
      name: this.#name,
      requestId: this.#id,
      error: this.#error,
      credential: this.#credential,
      target: this.#target,
      ms: elapsedMs(this.#parts, this.startedAt),
    };
    recordRequest(this, about, this.#parts);
  }

  get #isBatch(): boolean {
    return this.#method === BATCH;
  }
}

const BATCH = 'batch';

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
