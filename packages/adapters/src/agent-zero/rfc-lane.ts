// Agent Zero's remote function calls. They run any function of any module, so they are used only
// where a manifest names this interface, and only for the functions it lists.

import { createHmac } from 'node:crypto';
import { argumentsFromTask, type EventBody, exceedsDepth, FabricError } from '@starloom/core';
import type { HttpClient } from '../http/http-client.ts';
import type { ProfileCall } from '../http/profile.ts';
import { failure } from '../reasons.ts';
import { type AgentZeroLane, badAnswer, ClientLane } from './lane.ts';
import type { AgentZeroOptions } from './options.ts';

export class RfcLane extends ClientLane implements AgentZeroLane {
  readonly #password: string;

  constructor(client: HttpClient, options: AgentZeroOptions, password: string) {
    super(client, options);
    this.#password = password;
  }

  async *call({ envelope, requests }: ProfileCall): AsyncIterable<EventBody> {
    const { target, input } = envelope;
    if (input.attachments.length > 0) throw failure('attachments_unsupported');
    const rfc_input = JSON.stringify({
      ...this.#find(target.capability),
      args: [],
      kwargs: input.arguments ?? argumentsFromTask(input),
    });
    const hash = createHmac('sha256', this.#password).update(rfc_input).digest('hex');
    const value = await this.post('/api/rfc', { rfc_input, hash }, requests).catch(toDenied);
    if (value === undefined || exceedsDepth(value)) throw badAnswer('no JSON, or too deep');
    const isText = typeof value === 'string';
    const data = isText ? { answer: value } : { answer: JSON.stringify(value), data: value };
    yield { type: 'final', data };
  }

  /** Has no request without effects: the first call shows whether it is served. */
  async probe(): Promise<void> {}

  #find(capability: string): { readonly module: string; readonly function_name: string } {
    const path = Object.hasOwn(this.options.functions, capability)
      ? this.options.functions[capability]
      : '';
    const dot = path?.lastIndexOf('.') ?? -1;
    if (path && dot > 0) return { module: path.slice(0, dot), function_name: path.slice(dot + 1) };
    throw failure('not_listed', { capability });
  }
}

/** A wrong password is a failure like any other to the agent; only its text shows it. */
function toDenied(thrown: unknown): never {
  const error = FabricError.from(thrown);
  const { status, upstream } = error.details;
  const text = JSON.stringify(upstream ?? '');
  if (status !== 500 || !/Invalid RFC hash|No RFC password/.test(text)) throw error;
  throw failure('agent_denied', { upstream: { status } }, { cause: error });
}
