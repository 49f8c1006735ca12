// JSON-RPC 2.0, whatever carries it: requests, notifications and batches in, answers out, pushes by
// the connection. Sizes and depths of messages are the transport's to limit.

import { ERRORS, FabricError, type Json, orAborted, type Trace } from '@starloom/core';
import { idempotencyOf } from './agents/caller.ts';
import type { Call, Method } from './methods/define-method.ts';
import { findMethod } from './methods.ts';
import { failure, isReason } from './reasons.ts';
import {
  answer,
  BatchReply,
  errorAnswer,
  invalid,
  isResponse,
  parseRequest,
  type RpcReply,
  type RpcRequest,
  type RpcResponse,
  toReply,
  toRpcError,
} from './rpc/message.ts';
import { type Named, Peer, type RpcConnection } from './rpc/peer.ts';
import type { Services } from './services.ts';

export interface ReplyOptions {
  /**
   * From then on nothing is begun, and what is not done is answered with the reason of the signal, though
   * it may be done later.
   */
  readonly cut?: AbortSignal | undefined;
  readonly trace?: (() => Trace) | undefined;
}

export type RpcAnswer = RpcResponse | readonly RpcResponse[] | undefined;

export class RpcPeer {
  readonly #services: Services;
  readonly #peer: Peer;
  readonly #onClose: () => void;
  #closedFor: FabricError | undefined;

  constructor(services: Services, connection: RpcConnection, onClose: () => void = () => {}) {
    this.#services = services;
    this.#peer = new Peer(services, connection);
    this.#onClose = onClose;
  }

  /** Takes a parsed message; never throws. Nothing is answered to notifications. */
  async handle(message: unknown): Promise<RpcAnswer> {
    if (!Array.isArray(message)) return await this.#handleOne(message);
    return (await this.#handleBatch(message))?.answer;
  }

  /** As `handle`, for a transport that writes text. */
  async reply(message: unknown, options: ReplyOptions = {}): Promise<RpcReply | undefined> {
    if (Array.isArray(message)) return await this.#handleBatch(message, options);
    const answer = await this.#handleOne(message, options.cut);
    return answer && toReply(withTrace(answer, options));
  }

  /** Ends subscriptions and waits of this client. Requests that wait are answered with `reason`, if any. */
  async close(reason?: FabricError): Promise<void> {
    this.#closedFor ??= reason;
    this.#onClose();
    await this.#peer.close();
  }

  async #handleBatch(
    messages: readonly unknown[],
    options: ReplyOptions = {},
  ): Promise<RpcReply | undefined> {
    const { batch_requests: most, batch_answer_bytes: bytes } = this.#services.limits;
    const refuseAll = (...why: [string, string?]) =>
      toReply(withTrace(invalid(null, ...why), options));
    if (messages.length === 0) return refuseAll('The batch is empty');
    if (messages.length > most) {
      return refuseAll(`A batch has at most ${most} requests`, 'send them in several batches');
    }
    const batch = new BatchReply(bytes);
    for (const each of messages) {
      const one = await this.#handleOne(each, batch.enough ?? options.cut, true);
      if (one) batch.add(withTrace(one, options));
    }
    return batch.finish();
  }

  async #handleOne(
    message: unknown,
    cut?: AbortSignal,
    inBatch = false,
  ): Promise<RpcResponse | undefined> {
    const request = parseRequest(message);
    if (request === undefined || isResponse(request)) return request;
    const { id } = request;
    try {
      cut?.throwIfAborted();
      const result = await (cut ? orAborted(this.#run(request), cut) : this.#run(request));
      return id === undefined ? undefined : answer(id, result);
    } catch (thrown) {
      this.#log(request, FabricError.from(thrown), inBatch);
      return id === undefined ? undefined : errorAnswer(id, toRpcError(this.#cutShort(thrown)));
    }
  }

  /** With more time, a caller that did not get a lock might have got it. */
  #cutShort(thrown: unknown): unknown {
    const isCut = isReason(thrown, 'lock_held') || FabricError.from(thrown).code === 'CANCELLED';
    return isCut ? (this.#closedFor ?? thrown) : thrown;
  }

  async #run({ method: name, params }: RpcRequest): Promise<unknown> {
    this.#peer.assertAuthorised();
    const method = findMethod(name);
    if (method === undefined) throw failure('unknown_method', { method: name });
    const parsed = method.parse(params);
    const named = namedIn(parsed, method);
    const needsAgent = method.needsAgent?.(parsed) ?? true;
    const caller = await this.#peer.callerOf(named, params, needsAgent);
    const call = { services: this.#services, peer: this.#peer, caller };
    const result = await this.#once(name, method, call, () => method.run(call, parsed));
    if (method.onAnswer) await method.onAnswer(call, result);
    return result;
  }

  #once(
    name: string,
    { effect }: Method,
    { caller }: Call,
    run: () => Promise<unknown>,
  ): Promise<unknown> {
    const { principalId } = caller;
    const key = effect === 'write' ? idempotencyOf(caller, name) : undefined;
    if (key === undefined) return run();
    const keyed = { ...key, principalId };
    return this.#services.idempotency.once(keyed, async () => (await run()) as Json);
  }

  /** The transport logs a request of its own, with what the caller sees of the error; the rest is logged here. */
  #log({ method, id }: RpcRequest, error: FabricError, inBatch: boolean): void {
    const { log } = this.#services;
    const { log: level } = ERRORS[error.code];
    if (level === 'info' && !inBatch && id !== undefined) return;
    log[level]({ method, principal: this.#peer.principalId, error }, 'coordination: refused');
  }
}

function withTrace(response: RpcResponse, { trace }: ReplyOptions): RpcResponse {
  if (trace === undefined || !('error' in response)) return response;
  const { error } = response;
  return { ...response, error: { ...error, data: { ...error.data, trace: trace() } } };
}

/** The names in a request; `agent_id` is left out where it is not that of the caller. */
function namedIn(params: Named, { aboutAgent }: Method): Named {
  return aboutAgent ? { ...params, agent_id: undefined } : params;
}
