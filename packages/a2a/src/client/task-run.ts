// One call of an agent, from its message to the end of its task. A stream that breaks is joined
// again, then the task is looked at from time to time. When the caller leaves, the adapter asks the
// agent to cancel the task: closing a stream alone does not stop it.

import { setTimeout as delay } from 'node:timers/promises';
import type { Message, Part, StreamResponse } from '@a2a-js/sdk';
import {
  type AgentHandle,
  backoffMs,
  type CallContext,
  callHeaders,
  type Envelope,
  type EventBody,
  FabricError,
  isLeftRunning,
  orAborted,
  toMandateMeta,
  withoutSent,
} from '@starloom/core';
import { deadlineSignal, type Excerpt } from '@starloom/wire';
import { META_INPUTS } from '../names.ts';
import { failure } from '../reasons.ts';
import type { A2aConnection, CallLine } from './connection.ts';
import {
  isAnsweredWithError,
  isBrokenStream,
  isLostConnection,
  lostTask,
  toFailure,
} from './failure.ts';
import { type MessagePlace, toMessage, toRequest } from './message.ts';
import type { A2aOptions } from './options.ts';
import { parseHandle, type TaskHandle, toAnswerParts, toQuestions } from './questions.ts';
import { TaskFold, toOutcome } from './task-fold.ts';
import { TaskWatch } from './task-watch.ts';

interface TaskRunOptions {
  readonly connection: A2aConnection;
  readonly envelope: Envelope;
  readonly context: CallContext;
  readonly skill: string;
  readonly excerpt: Excerpt;
  /** Media types of answers; empty: any. */
  readonly accepts: readonly string[];
  readonly options: A2aOptions;
  /** Work that outlives the call; the adapter waits for it when it closes. */
  readonly afterwards: (work: Promise<unknown>) => void;
}

const RECONNECTS = 4;
const RECONNECT_MS = 200;
const FAILED_POLLS = 8;
/** How long an agent that was left before it named its task may take to name it. */
const LINGER_MS = 2_000;
const CANCEL_MS = 5_000;
/** How long a stream whose task is settled may take to end. */
const DRAIN_MS = 250;
const NEVER = Number.POSITIVE_INFINITY;

type Items = AsyncIterator<StreamResponse>;

export class TaskRun {
  readonly #options: TaskRunOptions;
  readonly #fold: TaskFold;
  readonly #watch: TaskWatch;
  #handle: TaskHandle;
  readonly #stop = new AbortController();
  readonly #headers: Readonly<Record<string, string>>;
  /** Nothing is left to be cancelled at the agent. */
  #over = false;
  /** The agent may have seen something of the call, whatever failed after that. */
  #isReached: boolean;
  #isKept = false;
  #isLeft = false;
  #pending: Promise<IteratorResult<StreamResponse>> | undefined;
  #request = new AbortController();

  constructor(options: TaskRunOptions) {
    const { connection, envelope, context } = options;
    const { max_stream_bytes: maxBytes } = options.options;
    this.#options = options;
    this.#handle = parseHandle(context.handle);
    const { taskId, contextId } = this.#handle;
    const guessesAppend = connection.losesAppend;
    this.#fold = new TaskFold({ maxBytes, taskId, contextId, guessesAppend });
    this.#isReached = taskId !== undefined;
    this.#headers = callHeaders(envelope, context);
    this.#watch = new TaskWatch({ ...options, headers: this.#headers });
  }

  async *events(): AsyncGenerator<EventBody, void, undefined> {
    const { signal } = this.#options.context;
    const onAbort = () => this.#stop.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      yield* this.#begin();
      while (this.#fold.isAsking) yield* this.#answer(await this.#ask());
      this.#over = true;
      if (this.#fold.isIncomplete) yield* this.#lookAgain();
      const { contextId } = this.#fold;
      const last = toOutcome(this.#fold, this.#options.excerpt);
      if (contextId !== undefined) this.#options.context.keep?.({ contextId });
      yield last;
    } catch (error) {
      if (this.#signal.aborted) throw FabricError.from(this.#signal.reason);
      const failure = toFailure(error, this.#options.excerpt);
      throw this.#isReached ? withoutSent(failure) : failure;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.leave();
    }
  }

  /** Ends the call from outside, also one whose events are not pulled. */
  end(reason: FabricError): void {
    this.#stop.abort(reason);
    this.leave();
  }

  get #signal(): AbortSignal {
    return this.#stop.signal;
  }

  #toMessage(place: MessagePlace, parts?: Part[], more: Record<string, unknown> = {}): Message {
    const { envelope, context, skill } = this.#options;
    return toMessage(envelope, skill, place, parts, { ...toMandateMeta(context), ...more });
  }

  /** Sends the call, answers what the agent asked before, or joins a task that runs. */
  async *#begin(): AsyncGenerator<EventBody> {
    const { context } = this.#options;
    const { taskId, contextId } = this.#handle;
    if (taskId === undefined) return yield* this.#send(this.#toMessage({ contextId }));
    if (context.responses) return yield* this.#answer(context.responses);
    const message = 'joined again: the answer starts over';
    yield { type: 'status', data: { state: 'discard', message } };
    yield* this.#follow();
  }

  async *#send(message: Message): AsyncGenerator<EventBody> {
    const { connection } = this.#options;
    const isStreaming = connection.streaming;
    const request = toRequest(message, isStreaming, this.#options.accepts);
    const before = this.#fold.status;
    try {
      if (isStreaming) yield* this.#read((line) => connection.stream(request, line));
      else yield* this.#read((line) => once(connection.send(request, line)));
    } catch (error) {
      this.#signal.throwIfAborted();
      const failure = toFailure(error, this.#options.excerpt);
      const isUnheard = this.#fold.taskId === undefined && this.#fold.status === before;
      if (isStreaming && isUnheard && isBrokenStream(failure)) {
        connection.streaming = false;
        if (failure.code === 'CAPABILITY_NOT_FOUND') return yield* this.#send(message);
      }
      if (this.#fold.taskId === undefined || !isLostConnection(failure)) throw failure;
      this.#options.context.log.debug({ error: failure }, 'the stream of a task was lost');
    }
    if (!this.#fold.isSettled) yield* this.#follow();
  }

  /** Reads on until the agent ended the task or asks. */
  async *#follow(): AsyncGenerator<EventBody> {
    const { connection } = this.#options;
    const id = this.#fold.taskId;
    if (id === undefined) throw failure('no_final');
    for (let tries = 0; connection.streaming && tries < RECONNECTS; tries += 1) {
      if (tries > 0) await this.#wait(backoffMs({ firstMs: RECONNECT_MS, tries }));
      try {
        yield* this.#read((line) => connection.subscribe(id, line));
      } catch (error) {
        this.#signal.throwIfAborted();
        const failure = toFailure(error, this.#options.excerpt);
        if (isAnsweredWithError(failure)) break;
        if (!isLostConnection(failure)) throw failure;
      }
      if (this.#fold.isSettled) return;
    }
    yield* this.#poll(id);
  }

  /** Reads the answer from the task itself, where its updates did not contain all of it. */
  async *#lookAgain(): AsyncGenerator<EventBody> {
    const { connection, context, excerpt } = this.#options;
    const { taskId = '' } = this.#fold;
    try {
      yield* this.#read((line) => once(connection.get(taskId, line).then(toItem)));
    } catch (error) {
      this.#signal.throwIfAborted();
      context.log.debug(
        { error: toFailure(error, excerpt) },
        'the task could not be looked at again',
      );
    }
  }

  async *#poll(id: string): AsyncGenerator<EventBody> {
    const { connection, excerpt } = this.#options;
    this.#watch.restart();
    for (let failed = 0; ; ) {
      let hadNews = false;
      try {
        for await (const event of this.#read((line) =>
          once(connection.get(id, line).then(toItem)),
        )) {
          hadNews = true;
          yield event;
        }
        failed = 0;
      } catch (error) {
        this.#signal.throwIfAborted();
        const failure = toFailure(error, excerpt);
        failed += 1;
        if (!isLostConnection(failure) || failed >= FAILED_POLLS) throw lostTask(failure);
      }
      if (this.#fold.isSettled) return;
      await this.#watch.next(id, hadNews, this.#signal);
    }
  }

  /** The items of one request, until there are no more or the task is settled. */
  async *#read(open: (line: CallLine) => AsyncIterable<StreamResponse>) {
    this.#signal.throwIfAborted();
    const request = new AbortController();
    this.#request = request;
    const line = { headers: this.#headers, signal: request.signal };
    const items: Items = open(line)[Symbol.asyncIterator]();
    let isLeft = true;
    try {
      while (true) {
        this.#pending = items.next();
        const next = await this.#next(this.#pending);
        if (next.done) break;
        for (const event of this.#fold.add(next.value)) {
          this.#keepTask();
          yield event;
        }
        this.#keepTask();
        if (this.#fold.isSettled) break;
      }
      isLeft = false;
    } finally {
      if (!isLeft) this.#options.afterwards(drain(items, request));
      else if (this.#pending === undefined) endRequest(items, request);
    }
  }

  /** An item that is still to come when the caller leaves may name the task to cancel. */
  async #next(pending: Promise<IteratorResult<StreamResponse>>) {
    const { idle_ms } = this.#options.options;
    const ms = this.#fold.taskId === undefined ? NEVER : idle_ms;
    using idle = deadlineSignal({
      ms,
      parent: this.#signal,
      reason: () => failure('connection_lost'),
    });
    try {
      const next = await orAborted(pending, idle.signal);
      this.#pending = undefined;
      this.#isReached = true;
      return next;
    } catch (error) {
      if (!this.#signal.aborted) this.#pending = undefined;
      if (toFailure(error, this.#options.excerpt).details.sent !== false) this.#isReached = true;
      throw error;
    }
  }

  /** A job that is interrupted from here on goes on with this task. */
  #keepTask(): void {
    const { taskId, contextId } = this.#fold;
    if (this.#isKept || taskId === undefined || this.#fold.isSettled) return;
    this.#isKept = true;
    const handle = { taskId, ...(contextId !== undefined && { contextId }) };
    this.#options.context.keep?.(handle, { isRunning: true });
  }

  async #ask() {
    const { context } = this.#options;
    const { status, taskId, contextId } = this.#fold;
    if (!status) throw failure('no_final');
    const { requests, asked, own } = toQuestions(status);
    const handle: AgentHandle = { taskId, contextId, asked, own, question: this.#fold.question };
    this.#handle = parseHandle(handle);
    if (!context.ask) throw failure('input_required', { inputs: requests });
    try {
      return await context.ask(requests, { handle });
    } catch (error) {
      // The agent keeps the question, and a later call answers it.
      if (FabricError.is(error) && error.code === 'INPUT_REQUIRED') this.#over = true;
      throw error;
    }
  }

  async *#answer(responses: NonNullable<CallContext['responses']>): AsyncGenerator<EventBody> {
    const parts = toAnswerParts(responses, this.#handle);
    if (!parts) throw failure('question_cancelled');
    if (this.#handle.asked === 'auth' && !(await this.#stillAsksToAuthenticate())) {
      this.#fold.noteAnswered(this.#handle.question);
      return yield* this.#follow();
    }
    this.#fold.noteAnswered(this.#handle.question);
    const { taskId, contextId } = this.#fold;
    const more = this.#handle.own ? { [META_INPUTS]: responses } : {};
    yield* this.#send(this.#toMessage({ taskId, contextId }, parts, more));
  }

  /** Credentials may have reached the agent by another way; then it went on by itself. */
  async #stillAsksToAuthenticate(): Promise<boolean> {
    const { connection } = this.#options;
    const { taskId = '' } = this.#fold;
    const line = { headers: this.#headers, signal: this.#signal };
    const task = await orAborted(connection.get(taskId, line), this.#signal);
    const fold = new TaskFold({ maxBytes: Number.POSITIVE_INFINITY });
    for (const _ of fold.add(toItem(task)));
    return fold.isAsking;
  }

  async #wait(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#signal }).catch(() => {
      this.#signal.throwIfAborted();
    });
  }

  /** Whatever way the call ended: a task that still runs for no one is cancelled, once. */
  leave(): void {
    const { afterwards } = this.#options;
    if (this.#isLeft) return;
    this.#isLeft = true;
    const unwatched = this.#watch.end(this.#fold.isSettled && !this.#fold.isAsking);
    if (unwatched) afterwards(unwatched);
    const isTakenOver = FabricError.is(this.#signal.reason) && isLeftRunning(this.#signal.reason);
    if (this.#over) return;
    if (isTakenOver) this.#request.abort(LEFT);
    else if (this.#fold.taskId !== undefined) afterwards(this.#cancel(this.#fold.taskId));
    else if (this.#pending) afterwards(this.#cancelWhenNamed(this.#pending));
    else this.#request.abort(LEFT);
  }

  async #cancelWhenNamed(pending: Promise<IteratorResult<StreamResponse>>): Promise<void> {
    const next = await orAborted(pending, AbortSignal.timeout(LINGER_MS)).catch(() => undefined);
    if (next && !next.done) for (const _ of this.#fold.add(next.value));
    const { taskId, isSettled } = this.#fold;
    if (taskId !== undefined && !isSettled) await this.#cancel(taskId);
    else this.#request.abort(LEFT);
  }

  async #cancel(id: string): Promise<void> {
    const { connection, context } = this.#options;
    this.#request.abort(LEFT);
    const line = { headers: this.#headers, signal: AbortSignal.timeout(CANCEL_MS) };
    await connection.cancel(id, line).catch((error: unknown) => {
      const failure = toFailure(error, this.#options.excerpt);
      context.log.debug({ error: failure }, 'the agent did not confirm that a task is cancelled');
    });
  }
}

/** Reads the rest of an answer without using it, so that its connection can serve the next call. */
async function drain(items: Items, request: AbortController): Promise<void> {
  const signal = AbortSignal.timeout(DRAIN_MS);
  try {
    while (!(await orAborted(items.next(), signal)).done);
  } catch {
    // It is cut off below.
  }
  endRequest(items, request);
}

function endRequest(items: Items, request: AbortController): void {
  request.abort(LEFT);
  items.return?.().catch(() => {});
}

async function* once(item: Promise<StreamResponse>): AsyncGenerator<StreamResponse> {
  yield await item;
}

function toItem(task: Awaited<ReturnType<A2aConnection['get']>>): StreamResponse {
  return { payload: { $case: 'task', value: task } };
}

const LEFT = new FabricError('CANCELLED', 'The call does not read on');
