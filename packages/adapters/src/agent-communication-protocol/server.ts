// The requests of the protocol. Run ids are checked before they stand in a path.

import {
  type CallContext,
  callHeaders,
  type Envelope,
  FabricError,
  orAborted,
} from '@starloom/core';
import type { HttpClient, HttpRequest } from '../http/http-client.ts';
import {
  aside,
  type JsonValue,
  type RequestContext,
  requestJson,
  streamJson,
} from '../http/json-values.ts';
import type { SentMessage } from './messages.ts';
import type { RunMode } from './options.ts';
import { isRunId, parseEvents, parseRun, type Run } from './protocol.ts';

const CANCEL_MS = 5_000;

export interface NewRun {
  readonly agentName: string;
  readonly input: SentMessage;
  readonly sessionId: string | undefined;
}

type RunContext = Pick<CallContext, 'signal' | 'log' | 'mandate'> & Pick<RequestContext, 'names'>;

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
    { signal, log, names, mandate }: RunContext,
  ) {
    this.#client = client;
    this.#mode = mode;
    this.#headers = callHeaders({ trace, hop }, { mandate });
    this.#context = { signal, log, names };
  }

  /** A run whose call is left before the run has an id is cancelled once it has. */
  async *create(run: NewRun): AsyncGenerator<JsonValue, void, undefined> {
    const { signal } = this.#context;
    const control = new AbortController();
    const items = this.#stream('/runs', this.#toBody(run), control.signal);
    const first = items.next();
    const head = await orAborted(first, signal).catch((error: unknown) => {
      if (signal.aborted) void this.#cancelLate(first, control);
      throw error;
    });
    if (head.done) return;
    const onAbort = () => control.abort(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    try {
      yield head.value;
      yield* items;
    } finally {
      signal.removeEventListener('abort', onAbort);
      await items.return();
    }
  }

  /** Only for a run that awaits, and once: a server takes it in any state, and then hangs. */
  resume(runId: string, message: SentMessage): AsyncGenerator<JsonValue, void, undefined> {
    const await_resume = { type: 'message', message };
    const body = { run_id: runId, await_resume, mode: this.#mode };
    return this.#stream(`/runs/${runId}`, body, this.#context.signal);
  }

  async read(runId: string): Promise<Run> {
    return parseRun(await this.#json({ method: 'GET', ...this.#at(`/runs/${runId}`) }));
  }

  /** All events of the run so far. */
  async events(runId: string): Promise<readonly unknown[]> {
    return parseEvents(await this.#json({ method: 'GET', ...this.#at(`/runs/${runId}/events`) }));
  }

  /** For a call that is over. */
  async cancel(runId: string): Promise<void> {
    const request = { method: 'POST', ...this.#at(`/runs/${runId}/cancel`) } as const;
    await aside(this.#context, 'the run was not cancelled', (context) =>
      requestJson(this.#client, request, context),
    );
  }

  async #cancelLate(
    first: Promise<IteratorResult<JsonValue>>,
    control: AbortController,
  ): Promise<void> {
    const { signal, log } = this.#context;
    const timer = setTimeout(() => control.abort(signal.reason), CANCEL_MS).unref();
    try {
      const { value } = await first;
      const runId: unknown = value?.type === 'head' ? value.head.headers['run-id'] : undefined;
      if (isRunId(runId)) await this.cancel(runId);
    } catch (error) {
      log.debug({ error: FabricError.from(error) }, 'the run was not cancelled');
    } finally {
      clearTimeout(timer);
      control.abort(signal.reason);
    }
  }

  #toBody({ agentName, input, sessionId }: NewRun) {
    const session = sessionId === undefined ? {} : { session_id: sessionId };
    return { agent_name: agentName, input: [input], mode: this.#mode, ...session };
  }

  #stream(
    path: string,
    body: object,
    signal: AbortSignal,
  ): AsyncGenerator<JsonValue, void, undefined> {
    const request = { method: 'POST', ...this.#at(path), body } as const;
    return streamJson(this.#client, request, { ...this.#context, signal });
  }

  #json(request: HttpRequest): Promise<unknown> {
    return requestJson(this.#client, request, this.#context);
  }

  #at(path: string) {
    return { path: this.#client.target.pathOf(path), headers: this.#headers };
  }
}
