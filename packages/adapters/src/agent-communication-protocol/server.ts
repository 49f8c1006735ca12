// The requests of the protocol. Run ids are checked before they stand in a path.

import { type CallContext, FabricError, orAborted } from '@starloom/core';
import type { JsonRequests, JsonValue } from '../http/json-requests.ts';
import type { SentMessage } from './messages.ts';
import type { RunOptions } from './options.ts';
import { isRunId, parseEvents, parseRun, type Run } from './protocol.ts';

const CANCEL_MS = 5_000;

interface NewRun {
  readonly agentName: string;
  readonly input: SentMessage;
  readonly sessionId: string | undefined;
}

/** The server of an agent, as one call speaks to it. */
export class RunServer {
  readonly #requests: JsonRequests;
  readonly #mode: RunOptions['mode'];
  readonly #context: CallContext;

  constructor(requests: JsonRequests, mode: RunOptions['mode'], context: CallContext) {
    this.#requests = requests;
    this.#mode = mode;
    this.#context = context;
  }

  /** When the caller leaves before the run has an id, the run is cancelled as soon as it has one. */
  async *create(run: NewRun): AsyncGenerator<JsonValue, void, undefined> {
    const { signal } = this.#context;
    const control = new AbortController();
    const items = this.#requests
      .until(control.signal)
      .stream(this.#post('/runs', this.#toBody(run)));
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

  /** Call it once, and for a run that awaits: a server accepts it in any state, and then hangs. */
  resume(runId: string, message: SentMessage): AsyncGenerator<JsonValue, void, undefined> {
    const await_resume = { type: 'message', message };
    const body = { run_id: runId, await_resume, mode: this.#mode };
    return this.#requests.stream(this.#post(`/runs/${runId}`, body));
  }

  async read(runId: string): Promise<Run> {
    return parseRun(await this.#get(`/runs/${runId}`));
  }

  /** All events of the run so far. */
  async events(runId: string): Promise<readonly unknown[]> {
    return parseEvents(await this.#get(`/runs/${runId}/events`));
  }

  /** For a call that is over. */
  async cancel(runId: string): Promise<void> {
    const request = this.#post(`/runs/${runId}/cancel`);
    await this.#requests.late('the run was not cancelled', (late) => late.json(request));
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

  #get(path: string): Promise<unknown> {
    return this.#requests.json({ method: 'GET', path: this.#at(path) });
  }

  #post(path: string, body?: object) {
    return { method: 'POST', path: this.#at(path), body };
  }

  #at(path: string): string {
    return this.#requests.client.target.pathOf(path);
  }
}
