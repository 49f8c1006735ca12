// The requests of the protocol. Run ids are checked before they stand in a path.

import { type CallContext, type Envelope, toHeaders } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import type { HttpClient, HttpRequest } from '../http/http-client.ts';
import {
  type JsonValue,
  type RequestContext,
  requestJson,
  streamJson,
} from '../http/json-values.ts';
import type { RunMode } from './options.ts';
import { parseEvents, parseRun, type Run } from './protocol.ts';
import type { SentMessage } from './to-message.ts';

const CANCEL_MS = 5_000;

export interface NewRun {
  readonly agentName: string;
  readonly input: SentMessage;
  readonly sessionId: string | undefined;
}

/** The server of an agent, as one call speaks to it. */
export class RunServer {
  readonly #client: HttpClient;
  readonly #mode: RunMode;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #context: RequestContext;

  constructor(
    client: HttpClient,
    mode: RunMode,
    { trace, hop }: Pick<Envelope, 'trace' | 'hop'>,
    { signal, log, names }: Pick<CallContext, 'signal' | 'log'> & Pick<RequestContext, 'names'>,
  ) {
    this.#client = client;
    this.#mode = mode;
    this.#headers = toHeaders(trace, hop);
    this.#context = { signal, log, names };
  }

  create({ agentName, input, sessionId }: NewRun): AsyncGenerator<JsonValue, void, undefined> {
    return this.#stream('/runs', {
      agent_name: agentName,
      input: [input],
      mode: this.#mode,
      ...(sessionId !== undefined && { session_id: sessionId }),
    });
  }

  /** Only for a run that awaits, and once: a server takes it in any state, and then hangs. */
  resume(runId: string, message: SentMessage): AsyncGenerator<JsonValue, void, undefined> {
    const await_resume = { type: 'message', message };
    return this.#stream(`/runs/${runId}`, { run_id: runId, await_resume, mode: this.#mode });
  }

  async read(runId: string): Promise<Run> {
    return parseRun(await this.#json({ method: 'GET', ...this.#at(`/runs/${runId}`) }));
  }

  /** All events of the run so far. */
  async events(runId: string): Promise<readonly unknown[]> {
    return parseEvents(await this.#json({ method: 'GET', ...this.#at(`/runs/${runId}/events`) }));
  }

  /** For a call that is over, so it has its own time. */
  async cancel(runId: string): Promise<void> {
    using deadline = deadlineSignal({ ms: CANCEL_MS });
    const request = { method: 'POST', ...this.#at(`/runs/${runId}/cancel`) } as const;
    await requestJson(this.#client, request, { ...this.#context, signal: deadline.signal });
  }

  #stream(path: string, body: object): AsyncGenerator<JsonValue, void, undefined> {
    const request = { method: 'POST', ...this.#at(path), body } as const;
    return streamJson(this.#client, request, this.#context);
  }

  #json(request: HttpRequest): Promise<unknown> {
    return requestJson(this.#client, request, this.#context);
  }

  #at(path: string) {
    return { path: this.#client.target.pathOf(path), headers: this.#headers };
  }
}
