// Agent Zero as an A2A agent, in the dialect of its library (A2A 0.2.5): JSON-RPC with three
// methods, no streams. A task is sent and then polled. Its card gives a wrong address, so the
// configured one is used. Two traps: a second request waits until the first task is over, and
// cancelling a task it does not know stops the agent for good.

import { randomUUID } from 'node:crypto';
import {
  type CallContext,
  type Envelope,
  type EventBody,
  FabricError,
  orAborted,
  TOOL_ERROR,
  toFields,
  toMandateMeta,
  toMeta,
} from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import type { HttpClient } from '../http/http-client.ts';
import { type RequestContext, requestJson } from '../http/json-values.ts';
import type { CallNames } from '../upstream/assert-callable.ts';
import { callHeaders } from '../upstream/call-headers.ts';
import { PollPace } from '../upstream/poll-pace.ts';
import { withoutSent } from '../upstream/without-sent.ts';
import { fromTask, isOver, parseTask, type Task } from './a2a-task.ts';
import { ClientLane } from './client-lane.ts';
import type { AgentZeroLane } from './lane.ts';
import { badAnswer, messageOf, unsupportedAttachments } from './translate.ts';

const CANCEL_MS = 5_000;
const CARD = '/a2a/.well-known/agent.json';

export class A2aLane extends ClientLane implements AgentZeroLane {
  async *call(
    envelope: Envelope,
    context: CallContext,
    names: CallNames,
  ): AsyncIterable<EventBody> {
    const { signal, log } = context;
    const requests = { signal, log, names };
    let task: Task | undefined;
    try {
      task = await this.#begin(envelope, context, requests);
      const pace = new PollPace(this.options.poll_ms, signal);
      for (let state = ''; !isOver(task); task = await this.#get(task.id, requests)) {
        const hasChanged = task.status.state !== state;
        state = task.status.state;
        if (hasChanged) yield { type: 'progress', data: { message: state } };
        await pace.wait(hasChanged);
      }
      yield* fromTask(task);
    } finally {
      if (task && !isOver(task)) this.#cancel(task.id, requests);
    }
  }

  async probe({ signal, log }: CallContext): Promise<void> {
    const path = this.client.target.pathOf(CARD);
    const requests = { signal, log, names: {} };
    const card = toFields(await requestJson(this.client, { method: 'GET', path }, requests));
    if (typeof card.protocolVersion !== 'string') throw badAnswer('no card');
  }

  /** The task of a call that is left meanwhile is cancelled once its name is known. */
  async #begin(envelope: Envelope, context: CallContext, requests: RequestContext): Promise<Task> {
    const { signal } = requests;
    const control = new AbortController();
    const sending = this.#send(envelope, context, { ...requests, signal: control.signal });
    return orAborted(sending, signal).catch((error: unknown) => {
      const left = FabricError.from(error);
      if (signal.aborted) {
        const timer = setTimeout(() => control.abort(left), CANCEL_MS).unref();
        void sending
          .then((task) => this.#cancel(task.id, requests))
          .catch(() => {})
          .finally(() => clearTimeout(timer));
      }
      throw left;
    });
  }

  async #send(envelope: Envelope, context: CallContext, requests: RequestContext): Promise<Task> {
    const { input, trace, hop } = envelope;
    const { project } = this.options;
    const files = input.attachments.map(({ uri, name, media_type }) => {
      if (uri === undefined) throw unsupportedAttachments('a uri');
      return { kind: 'file', file: { uri, mimeType: media_type, ...(name && { name }) } };
    });
    const message = {
      kind: 'message',
      role: 'user',
      messageId: randomUUID(),
      parts: [{ kind: 'text', text: messageOf(input) }, ...files],
      metadata: {
        ...toMeta(trace, hop),
        ...toMandateMeta(context),
        ...(project !== undefined && { project }),
      },
    };
    const configuration = { acceptedOutputModes: ['text/plain'], blocking: false };
    const params = { message, configuration };
    const headers = callHeaders(envelope, context);
    return parseTask(await this.#rpc('message/send', params, requests, headers));
  }

  async #get(id: string, requests: RequestContext): Promise<Task> {
    const found = await this.#rpc('tasks/get', { id }, requests).catch((error: unknown) => {
      throw withoutSent(error);
    });
    const task = parseTask(found);
    if (task.id === id) return task;
    throw new FabricError('UPSTREAM_ERROR', 'The agent answered with another task', {
      details: { reason: 'wrong_task', fix: 'see the log of the agent' },
    });
  }

  /** Only a task that was just seen alive, and once; the agent takes note when it is done with it. */
  #cancel(id: string, { log, names }: RequestContext): void {
    const deadline = deadlineSignal({ ms: CANCEL_MS });
    const requests = { log, names, signal: deadline.signal };
    this.#get(id, requests)
      .then((task) => (isOver(task) ? undefined : this.#rpc('tasks/cancel', { id }, requests)))
      .catch((error: unknown) => log.debug({ error }, 'the task was not cancelled'))
      .finally(() => deadline.cancel());
  }

  async #rpc(
    method: string,
    params: object,
    requests: RequestContext,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    const id = randomUUID();
    const path = this.client.target.pathOf('/a2a/');
    const body = { jsonrpc: '2.0', id, method, params };
    const answer = toFields(
      await requestJson(this.client, { method: 'POST', path, headers, body }, requests),
    );
    if (answer.error !== undefined) throw rpcFailure(answer.error, this.client);
    if (answer.id !== id || answer.result === undefined) throw badAnswer('no JSON-RPC answer');
    return answer.result;
  }
}

/** -32603 and -32601 speak of the agent; any other error is its answer. */
function rpcFailure(error: unknown, { excerpt }: HttpClient): FabricError {
  const { code, message } = toFields(error);
  const upstream = { code, message: excerpt(String(message ?? '')) };
  if (code === -32_601) {
    return new FabricError('CAPABILITY_NOT_FOUND', 'The agent does not know this method', {
      details: { reason: 'method_not_found', upstream },
    });
  }
  const reason = code === -32_603 ? 'rpc_error' : TOOL_ERROR;
  return new FabricError('UPSTREAM_ERROR', 'The agent answered with an error', {
    details: { reason, upstream, fix: 'see details.upstream' },
  });
}
