// JSON-RPC 2.0, whatever carries it: requests, notifications and batches in, answers out, pushes by
// the connection. Sizes and depths of messages are the transport's to limit.

import { ERRORS, FabricError, type Json } from '@starloom/core';
import { idempotencyOf } from './agents/caller.ts';
import { protocolError, refuse, toRpcError } from './errors.ts';
import type { Call, Method } from './methods/define-method.ts';
import { findMethod } from './methods.ts';
import type { Connection } from './rpc/connection.ts';
import { Idempotency } from './rpc/idempotency.ts';
import {
  answer,
  failure,
  invalid,
  isResponse,
  parseRequest,
  type RpcRequest,
  type RpcResponse,
} from './rpc/message.ts';
import { type Named, Peer } from './rpc/peer.ts';
import type { Services } from './services.ts';

export type RpcAnswer = RpcResponse | readonly RpcResponse[] | undefined;

/** One client's side of the conversation. */
export class RpcPeer {
  readonly #services: Services;
  readonly #peer: Peer;
  readonly #idempotency: Idempotency;
  readonly #onClose: () => void;

  constructor(services: Services, connection: Connection, onClose: () => void = () => {}) {
    this.#services = services;
    this.#peer = new Peer(services, connection);
    this.#idempotency = new Idempotency(services.store, services.clock);
    this.#onClose = onClose;
  }

  /** Takes a parsed message; never throws. Nothing is answered to notifications. */
  async handle(message: unknown): Promise<RpcAnswer> {
    if (!Array.isArray(message)) return await this.#handleOne(message);
    const { batch_requests: most } = this.#services.limits;
    if (message.length === 0) return invalid(null, 'The batch is empty');
    if (message.length > most) {
      const fix = 'send them in several batches';
      return invalid(null, `A batch has at most ${most} requests`, fix);
    }
    const answers: RpcResponse[] = [];
    for (const each of message) {
      const one = await this.#handleOne(each);
      if (one) answers.push(one);
    }
    return answers.length > 0 ? answers : undefined;
  }

  /** As `handle`, for a transport that has text. */
  async handleText(text: string): Promise<string | undefined> {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      const error = protocolError(-32700, 'The message is not JSON', 'send one JSON text');
      return JSON.stringify(failure(null, error));
    }
    const answers = await this.handle(message);
    return answers === undefined ? undefined : JSON.stringify(answers);
  }

  /** Ends subscriptions and waits of this client. */
  async close(): Promise<void> {
    this.#onClose();
    await this.#peer.close();
  }

  async #handleOne(message: unknown): Promise<RpcResponse | undefined> {
    const request = parseRequest(message);
    if (request === undefined || isResponse(request)) return request;
    const { id } = request;
    try {
      const result = await this.#run(request);
      return id === undefined ? undefined : answer(id, result);
    } catch (thrown) {
      this.#log(request, FabricError.from(thrown));
      return id === undefined ? undefined : failure(id, toRpcError(thrown));
    }
  }

  async #run({ method: name, params }: RpcRequest): Promise<unknown> {
    const method = findMethod(name);
    if (method === undefined) throw unknownMethod(name);
    const parsed = method.parse(params);
    const named = namedIn(parsed, method);
    const caller = await this.#peer.callerOf(named, params);
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
    const idempotency = effect === 'write' ? idempotencyOf(caller, name) : undefined;
    if (idempotency === undefined) return run();
    const keyed = { ...idempotency, principalId };
    return this.#idempotency.once(keyed, async () => (await run()) as Json);
  }

  #log({ method }: RpcRequest, error: FabricError): void {
    const { log } = this.#services;
    const fields = { method, principal: this.#peer.principalId, error };
    log[ERRORS[error.code].log](fields, 'coordination: refused');
  }
}

/** Who asks, unless `agent_id` says whom the request is about. */
function namedIn(params: Named, { aboutAgent }: Method): Named {
  return aboutAgent ? { ...params, agent_id: undefined } : params;
}

function unknownMethod(method: string): FabricError {
  return refuse('unknown_method', `There is no method "${method}"`, {
    method,
    fix: 'mcp.describe lists the methods',
  });
}
