// What was asked and is not answered yet. A request is settled once: by its answer, by its time, or
// by the caller that gives it up. Until then it keeps the process alive.

import { randomUUID } from 'node:crypto';
import { type ErrorCode, FabricError, isErrorCode, toFields } from '@starloom/core';
import type { CloseCause } from './link.ts';

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
      reject(timeout({ method, timeout_ms: ms, idempotency_key, may_be_done: wasSent }));
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

  /** It is settled by who takes it. */
  take(id: number): OpenRequest | undefined {
    const request = this.#open.get(id);
    if (request === undefined) return undefined;
    clearTimeout(request.timer);
    this.#open.delete(id);
    this.#onSettled(request);
    return request;
  }

  answered(id: number, result: unknown): void {
    this.take(id)?.resolve(result);
    this.#late.get(id)?.(result);
    this.#late.delete(id);
  }

  refused(id: number, error: FabricError): void {
    this.take(id)?.reject(error);
    this.#late.delete(id);
  }

  /** No answer comes over the connection any more. */
  lost(): void {
    this.#late.clear();
    for (const request of this.list()) {
      request.isInFlight = false;
      if (request.isBound) this.take(request.id)?.reject(connectionLost());
    }
  }

  rejectAll(reason: FabricError): void {
    this.#late.clear();
    for (const { id } of this.list()) this.take(id)?.reject(reason);
  }
}

export function connectionLost(): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The connection was lost', {
    details: { fix: 'none needed: another is made' },
  });
}

interface TimedOut {
  readonly method: string;
  readonly timeout_ms: number;
  readonly idempotency_key: unknown;
  /** The request was sent; the client does not know whether the server did it. */
  readonly may_be_done: boolean;
}

function timeout(details: TimedOut): FabricError {
  const { method, timeout_ms, may_be_done } = details;
  const fix = may_be_done
    ? 'it may be done, now or later: look, or ask again with this idempotency_key'
    : 'it was not sent: see whether the gateway can be reached, and ask again';
  return new FabricError('TIMEOUT', `No answer to ${method} within ${timeout_ms} ms`, {
    details: { ...details, fix },
  });
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
    return inFlight.map(({ id, method }) => ({ id, error: answerTooLarge(method) }));
  }
  if (cause === TOO_LARGE) {
    const [largest] = inFlight.toSorted((a, b) => bytesOf(b) - bytesOf(a));
    return largest ? [{ id: largest.id, error: tooLarge(largest) }] : [];
  }
  if (!NOT_ACCEPTED.includes(cause)) return [];
  return inFlight.map(({ id, method }) => ({ id, error: notAccepted(method, cause) }));
}

function bytesOf({ text }: OpenRequest): number {
  return Buffer.byteLength(text);
}

function tooLarge(request: OpenRequest): FabricError {
  const { method } = request;
  return new FabricError('BAD_INPUT', `The request ${method} is too large for the gateway`, {
    details: {
      reason: 'too_large',
      method,
      bytes: bytesOf(request),
      close_code: TOO_LARGE,
      fix: 'send less at once, or raise limits.body_bytes of the gateway (4 MiB by default)',
    },
  });
}

function answerTooLarge(method: string): FabricError {
  return new FabricError('UPSTREAM_ERROR', 'An answer is too large for the client', {
    details: {
      reason: 'answer_too_large',
      method,
      may_be_done: true,
      fix: 'ask for less at once, or raise maxMessageBytes (32 MiB by default); others that were under way ask again',
    },
  });
}

function notAccepted(method: string, code: CloseCause | undefined): FabricError {
  return new FabricError('UPSTREAM_ERROR', `The gateway does not accept what was sent (${code})`, {
    details: {
      reason: 'not_accepted',
      method,
      close_code: code,
      may_be_done: true,
      fix: 'look whether it was done; see what stands between here and the gateway',
    },
  });
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
