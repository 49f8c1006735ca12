// One call as one run: made, or joined when the handle names one; followed to its end over a stream,
// and by polling when the stream breaks. A run that awaits is resumed once per question. A run whose
// call ends before it does is cancelled, unless it waits for an answer that comes with a later call.

import {
  type AgentHandle,
  type CallContext,
  type EventBody,
  FabricError,
  isLeftRunning,
  type KeepOptions,
  toFields,
  withoutSent,
} from '@starloom/core';
import type { JsonValue } from '../http/json-requests.ts';
import type { ProfileCall } from '../http/profile.ts';
import { failure } from '../reasons.ts';
import { PollPace } from '../upstream/poll-pace.ts';
import { toMessage, toQuestion, toResume } from './messages.ts';
import type { RunOptions } from './options.ts';
import { isRunId, parseRun, parseRunEvent, type Run } from './protocol.ts';
import { RunServer } from './server.ts';
import { RunTranslator } from './translate.ts';

type Leg = AsyncIterable<JsonValue>;

export class RunCall {
  readonly #server: RunServer;
  readonly #call: ProfileCall;
  readonly #context: CallContext;
  readonly #translator: RunTranslator;
  readonly #pace: PollPace;
  #runId: string | undefined;
  #sessionId: string | undefined;
  /** How many events of the run were looked at. */
  #seen: number;
  #asked: number;
  /** The run is over, or waits for a later call. */
  #settled = false;

  constructor(call: ProfileCall, { mode, poll_ms }: RunOptions) {
    const { context, requests } = call;
    const { run_id, session_id, events, asked } = context.handle ?? {};
    this.#server = new RunServer(requests, mode, context);
    this.#call = call;
    this.#context = context;
    this.#translator = new RunTranslator(requests.client.excerpt);
    this.#pace = new PollPace(poll_ms, context.signal);
    this.#runId = isRunId(run_id) ? run_id : undefined;
    this.#sessionId = typeof session_id === 'string' ? session_id : undefined;
    this.#seen = Number.isSafeInteger(events) ? Number(events) : 0;
    this.#asked = Number.isSafeInteger(asked) ? Number(asked) : 0;
  }

  async *events(): AsyncGenerator<EventBody, void, undefined> {
    try {
      let leg = this.#runId === undefined ? this.#create() : await this.#join(this.#runId);
      while (true) {
        const run: Run = (yield* this.#follow(leg)) ?? (yield* this.#poll());
        if (run.status === 'awaiting') {
          leg = await this.#answer(run);
          continue;
        }
        this.#settled = true;
        this.#keep({});
        return yield* this.#translator.ending(run);
      }
    } catch (error) {
      throw this.#runId === undefined ? error : withoutSent(error);
    } finally {
      if (!this.#settled && !this.#isLeftRunning()) this.#cancel();
    }
  }

  #create(): Leg {
    const { capability, envelope } = this.#call;
    const agentName = capability.tool ?? capability.name;
    const input = toMessage(envelope.input);
    return this.#server.create({ agentName, input, sessionId: this.#sessionId });
  }

  /** Continues the run of an earlier call; it is never created again. */
  async #join(runId: string): Promise<Leg> {
    const { responses } = this.#context;
    const run = await this.#server.read(runId).catch(throwLost);
    if (run.status !== 'awaiting') return only(run);
    if (responses) return this.#resume(toResume(responses[0]));
    // The same question again, under its own id.
    this.#asked = Math.max(0, this.#asked - 1);
    return only(run);
  }

  /** Events up to where the run ends or awaits; nothing when the answer ended before that. */
  async *#follow(leg: Leg): AsyncGenerator<EventBody, Run | undefined, undefined> {
    try {
      for await (const item of leg) {
        const run = yield* this.#take(item);
        if (run && isAtRest(run)) return run;
      }
    } catch (error) {
      if (this.#runId === undefined || !isBroken(error)) throw error;
      this.#context.log.info({ error }, 'the stream of the run broke: polling it');
    }
    if (this.#runId === undefined) throw failure('no_final');
    return undefined;
  }

  *#take(item: JsonValue): Generator<EventBody, Run | undefined, undefined> {
    switch (item.type) {
      case 'head': {
        const runId = item.head.headers['run-id'];
        if (isRunId(runId)) this.#noteRun(runId);
        return undefined;
      }
      case 'value':
        return yield* this.#takeEvent(item.value);
      case 'final':
        return item.value === undefined ? undefined : this.#note(parseRun(item.value));
    }
  }

  *#takeEvent(value: unknown): Generator<EventBody, Run | undefined, undefined> {
    const event = parseRunEvent(value);
    this.#seen += 1;
    if (event.type === 'run') return this.#note(event.run);
    if (event.type === 'unknown') {
      this.#context.log.debug({ type: event.name.slice(0, 100) }, 'an event is passed over');
    }
    yield* this.#translator.fromEvent(event);
    return undefined;
  }

  /** Follows the run by asking for it again and again. */
  async *#poll(): AsyncGenerator<EventBody, Run, undefined> {
    const runId = this.#runId ?? '';
    while (true) {
      const events = await this.#server.events(runId).catch(withoutEvents);
      const fresh = events?.slice(this.#seen) ?? [];
      let last: Run | undefined;
      for (const value of fresh) {
        last = yield* this.#takeEvent(value);
        if (last && isOver(last)) return last;
      }
      // A run that awaited and went on has an event for it too: only the last one counts.
      if (last?.status === 'awaiting') return last;
      if (!events) {
        const run = this.#note(await this.#server.read(runId).catch(throwLost));
        if (isAtRest(run)) return run;
      }
      await this.#pace.wait(fresh.length > 0);
    }
  }

  async #answer(run: Run): Promise<Leg> {
    const { ask } = this.#context;
    this.#asked += 1;
    if (!ask) return this.#resume(toResume(undefined));
    const handle = this.#handle();
    try {
      const [response] = await ask([toQuestion(run, this.#asked)], { handle });
      return this.#resume(toResume(response));
    } catch (error) {
      this.#settled = FabricError.is(error) && error.code === 'INPUT_REQUIRED';
      throw error;
    }
  }

  async *#resume(message: ReturnType<typeof toResume>): Leg & AsyncGenerator<JsonValue> {
    const runId = this.#runId ?? '';
    try {
      yield* this.#server.resume(runId, message);
    } catch (error) {
      if (isBroken(error)) await this.#assertTaken(runId, error);
      throw notAwaiting(error) ?? error;
    }
  }

  /** Throws when the answer was lost on its way; it is not sent twice. */
  async #assertTaken(runId: string, lost: unknown): Promise<void> {
    const run = await this.#server.read(runId).catch(() => undefined);
    if (run?.status !== 'awaiting') return;
    throw failure('answer_lost', {}, { cause: lost });
  }

  #note(run: Run): Run {
    const { run_id, session_id } = run;
    if (session_id) this.#sessionId = session_id;
    this.#noteRun(run_id);
    return run;
  }

  #noteRun(runId: string): void {
    if (this.#runId === undefined) {
      this.#runId = runId;
      this.#keep({ run_id: runId }, { isRunning: true });
    } else if (this.#runId !== runId) throw failure('wrong_run');
  }

  #keep(more: AgentHandle, options?: KeepOptions): void {
    const session = this.#sessionId === undefined ? {} : { session_id: this.#sessionId };
    this.#context.keep?.({ ...session, ...more }, options);
  }

  #handle(): AgentHandle {
    const session = this.#sessionId === undefined ? {} : { session_id: this.#sessionId };
    return { ...session, run_id: this.#runId, events: this.#seen, asked: this.#asked };
  }

  #isLeftRunning(): boolean {
    const { signal } = this.#context;
    return signal.aborted && isLeftRunning(FabricError.from(signal.reason));
  }

  #cancel(): void {
    if (this.#runId !== undefined) void this.#server.cancel(this.#runId);
  }
}

async function* only(run: Run): AsyncGenerator<JsonValue, void, undefined> {
  yield { type: 'final', value: run };
}

function isOver({ status }: Run): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

function isAtRest(run: Run): boolean {
  return isOver(run) || run.status === 'awaiting';
}

/** The connection ended; nothing that came over it was wrong. */
function isBroken(error: unknown): boolean {
  return FabricError.is(error) && error.details.reason === 'connection_lost';
}

/** Servers need not offer the events of a run. */
function withoutEvents(error: unknown): undefined {
  const { status } = FabricError.from(error).details;
  if (status === 404 || status === 405 || status === 501) return undefined;
  throw error;
}

function throwLost(error: unknown): never {
  if (FabricError.from(error).details.status !== 404) throw error;
  throw failure('unknown_run', {}, { cause: error });
}

/** A 403 with an error of the protocol says nothing about our credentials. */
function notAwaiting(error: unknown): FabricError | undefined {
  if (!FabricError.is(error) || error.details.status !== 403) return undefined;
  const { upstream } = error.details;
  const said = toFields(upstream).text;
  if (typeof said !== 'string' || !said.includes('"code"')) return undefined;
  return failure('not_awaiting', { upstream }, { cause: error });
}
