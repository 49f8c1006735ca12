// What was asked and is not answered yet. A request is settled once: by its answer, by its time, or
// by the caller that gives it up. Until then it keeps the process alive.

import { randomUUID } from 'node:crypto';
import { type ErrorCode, FabricError, isErrorCode, toFields } from '@starloom/core';
import type { CloseCause } from './link.ts';
import { failure } from './reasons.ts';

export type Params = Readonly<Record<string, unknown>>;

/** Takes a result that comes on the same connection after the request was given up. */
export type OnLate = (result: unknown) => void;

export interface OpenRequest {
  readonly id: number;
  readonly method: string;
  readonly text: string;
  /** How long it waits at the server on purpose. */
  readonly waitMs: number;
  /** It is of use on this connection only. */
  readonly isBound: boolean;
  readonly answer: Promise<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: FabricError) => void;
  /** It was sent on this connection: its answer may come. */
  isInFlight: boolean;
  wasSent: boolean;
}

interface Asked {
  /** How long it may take, besides what it waits on purpose. */
  readonly requestMs: number;
  readonly isBound: boolean;
  readonly onLate?: OnLate | undefined;
}

export class PendingRequests {
  readonly #open = new Map<number, OpenRequest & { readonly timer: NodeJS.Timeout }>();
  readonly #late = new Map<number, OnLate>();
  readonly #onSettled: (request: OpenRequest) => void;
  #nextId = 1;

  constructor(onSettled: (request: OpenRequest) => void) {
    this.#onSettled = onSettled;
  }

  /** A copy, so that requests may be settled meanwhile. */
  list(): readonly OpenRequest[] {
    return [...this.#open.values()];
  }

  add(method: string, params: Params, { isBound, requestMs, onLate }: Asked): OpenRequest {
    const id = this.#nextId;
    this.#nextId += 1;
    const { promise: answer, resolve, reject } = Promise.withResolvers<unknown>();
    const idempotency_key = params.idempotency_key ?? randomUUID();
    const keyed = { ...params, idempotency_key };
    const text = JSON.stringify({ jsonrpc: '2.0', id, method, params: keyed });
    const waitMs = Number(params.wait_ms ?? 0);
    const ms = requestMs + waitMs;
    const timer = setTimeout(() => {
      const { isInFlight, wasSent = false } = this.take(id) ?? {};
      if (onLate && isInFlight) this.#late.set(id, onLate);
      const row = wasSent ? 'timeout/sent' : 'timeout/unsent';
      reject(failure(row, { method, timeout_ms: ms, idempotency_key }));
    }, ms);
    const unsent = { isInFlight: false, wasSent: false };
    const settle = { answer, resolve, reject, timer };
    const request = { id, method, text, waitMs, isBound, ...settle, ...unsent };
    this.#open.set(id, request);
    return request;
  }

  get(id: number): OpenRequest | undefined {
    return this.#open.get(id);
  }

  /** The caller that takes a request has to settle it. */
  take(id: number): OpenRequest | undefined {
    const request = this.#open.get(id);
    if (request === undefined) return undefined;
    clearTimeout(request.timer);
    this.#open.delete(id);
    this.#onSettled(request);
    return request;
  }

  onAnswered(id: number, result: unknown): void {
    this.take(id)?.resolve(result);
    this.#late.get(id)?.(result);
    this.#late.delete(id);
  }

  onRefused(id: number, error: FabricError): void {
    this.take(id)?.reject(error);
    this.#late.delete(id);
  }

  /** No answer comes over the connection any more. */
  onConnectionLost(): void {
    this.#late.clear();
    for (const request of this.list()) {
      request.isInFlight = false;
      if (request.isBound) this.take(request.id)?.reject(failure('connection_lost'));
    }
  }

  rejectAll(reason: FabricError): void {
    this.#late.clear();
    for (const { id } of this.list()) this.take(id)?.reject(reason);
  }
}

const TOO_LARGE = 1009;
/** Not this kind of data, not UTF-8, against its rules. */
const NOT_ACCEPTED: readonly (CloseCause | undefined)[] = [1003, 1007, 1008];

/**
 * Of what was sent on a connection and not answered: what a close for this cause refuses, and how. A
 * frame over the server's limit (1009) was the largest of those in flight, or at least as large as
 * the one it was; the other codes do not tell which frame it was, nor does an answer over the
 * client's limit tell whose it was.
 */
export function refusedBy(
  cause: CloseCause | undefined,
  inFlight: readonly OpenRequest[],
): readonly { readonly id: number; readonly error: FabricError }[] {
  if (cause === 'answer_too_large') {
    return inFlight.map(({ id, method }) => ({
      id,
      error: failure('answer_too_large', { method }),
    }));
  }
  if (cause === TOO_LARGE) {
    const [largest] = inFlight.toSorted((a, b) => bytesOf(b) - bytesOf(a));
    if (largest === undefined) return [];
    const { id, method } = largest;
    const facts = { method, bytes: bytesOf(largest), close_code: TOO_LARGE };
    return [{ id, error: failure('too_large', facts) }];
  }
  if (!NOT_ACCEPTED.includes(cause)) return [];
  return inFlight.map(({ id, method }) => {
    return { id, error: failure('not_accepted', { method, close_code: cause }) };
  });
}

function bytesOf({ text }: OpenRequest): number {
  return Buffer.byteLength(text);
}

/** An error of the server; `details.rpc` is its JSON-RPC code, beside all that `data` says. */
export function fromRpcError(error: unknown): FabricError {
  const { code: rpc, message, data } = toFields(error);
  const { details: text, code, ...rest } = toFields(data);
  const fabric: ErrorCode = isErrorCode(code) ? code : 'UPSTREAM_ERROR';
  const said = [text, message].find((each) => typeof each === 'string');
  return new FabricError(fabric, String(said ?? 'The gateway refused it, and does not say why'), {
    details: { ...rest, ...(typeof rpc === 'number' && { rpc }) },
  });
}

export function rpcCodeOf(error: unknown): number | undefined {
  if (!FabricError.is(error)) return undefined;
  const { rpc } = error.details;
  return typeof rpc === 'number' ? rpc : undefined;
}
