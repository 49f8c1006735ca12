// One question to the model, answered whole: streamed where the provider can, shown on the bus as it
// comes, asked again after a transient failure, cut off when the signal says so.

import { backoffMs, type Clock, FabricError, type Log, orAborted } from '@starloom/core';
import {
  foldEvents,
  type IAgentContext,
  type IProvider,
  type ProviderEvent,
  type ProviderResponse,
} from '@starloom/sdk';
import { failure } from '../reasons.ts';
import type { Emit } from './event-bus.ts';
import { parseResponse, toProviderError } from './parse-response.ts';

const MAX_STREAM_CHARACTERS = 16_777_216;

export interface ModelParts {
  readonly provider: IProvider;
  readonly retry: RetryRules;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Question {
  readonly prompt: string;
  readonly context: IAgentContext;
  readonly signal: AbortSignal;
  readonly remainingMs: () => number;
  readonly emit: Emit;
}

/** Ids and metadata are filled in. */
export type Answer = ProviderResponse & Required<Pick<ProviderResponse, 'metadata'>>;

export async function askModel(parts: ModelParts, question: Question): Promise<Answer> {
  const { retry: rules, wait, log } = parts;
  const { signal, remainingMs, emit } = question;
  const response = await withRetries(() => askOnce(parts, question), {
    rules,
    signal,
    remainingMs,
    wait,
    onRetry: (error, attempt, waitMs) => {
      log.warn({ code: error.code, attempt, waitMs, ...error.details }, 'the model is asked again');
      emit('STREAM:DISCARD', { attempt, waitMs, code: error.code });
    },
  });
  emit('STREAM:STEP', { metadata: response.metadata });
  return response;
}

async function askOnce({ provider, clock }: ModelParts, question: Question): Promise<Answer> {
  const { prompt, context, signal, emit } = question;
  const started = clock.monotonic();
  try {
    signal.throwIfAborted();
    const given = provider.stream
      ? await readStream(provider.stream(prompt, context), signal, emit)
      : await orAborted(provider.generate(prompt, context), signal);
    const response = parseResponse(given);
    if (!provider.stream) show(response, emit);
    const latencyMs = clock.monotonic() - started;
    return { ...response, metadata: { latencyMs, ...response.metadata } };
  } catch (thrown) {
    throw signal.aborted ? FabricError.from(signal.reason) : toProviderError(thrown);
  }
}

async function readStream(
  stream: AsyncIterable<unknown>,
  signal: AbortSignal,
  emit: Emit,
): Promise<ProviderResponse> {
  const iterator = stream[Symbol.asyncIterator]();
  const events: ProviderEvent[] = [];
  let characters = 0;
  let unreadable = 0;
  try {
    for (;;) {
      const { done, value } = await orAborted(iterator.next(), signal);
      if (done) break;
      if (!isEvent(value)) {
        unreadable += 1;
        continue;
      }
      events.push(value);
      characters += sizeOf(value);
      if (characters > MAX_STREAM_CHARACTERS)
        throw failure('answer_too_large', { limit: MAX_STREAM_CHARACTERS });
      showEvent(value, emit);
    }
  } finally {
    leave(iterator);
  }
  if (events.length === 0 && unreadable > 0) {
    throw failure('unreadable_answer/provider', { events: unreadable });
  }
  return foldEvents(events);
}

/** Not awaited: a provider that hangs would hang here, too. */
function leave(iterator: AsyncIterator<unknown>): void {
  iterator.return?.().then(undefined, () => {});
}

function show({ segments }: ProviderResponse, emit: Emit): void {
  for (const segment of segments) {
    const { type, text = '' } = segment;
    if (type === 'text' || type === 'reasoning') showEvent({ type, text }, emit);
    else showEvent({ type: 'segment', segment }, emit);
  }
}

/** Calls are shown when they are made. */
function showEvent(event: ProviderEvent, emit: Emit): void {
  if (event.type === 'text') emit('STREAM:TEXT', { text: event.text });
  else if (event.type === 'reasoning') emit('STREAM:REASONING', { text: event.text });
  else if (event.type === 'segment' && event.segment.type !== 'tool_call') {
    emit('STREAM:SEGMENT', { segment: event.segment });
  }
}

function isEvent(value: unknown): value is ProviderEvent {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  const { type } = value;
  if (type === 'text' || type === 'reasoning') {
    return 'text' in value && typeof value.text === 'string';
  }
  const part = type === 'segment' ? 'segment' : type === 'finish' ? 'metadata' : undefined;
  if (part === undefined) return false;
  const held = (value as Record<string, unknown>)[part];
  return typeof held === 'object' && held !== null;
}

function sizeOf(event: ProviderEvent): number {
  if (event.type === 'segment') return (event.segment.data ?? event.segment.text ?? '').length;
  return event.type === 'finish' ? 0 : event.text.length;
}

export interface RetryRules {
  /** Tries in all. */
  readonly attempts: number;
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
}

export const DEFAULT_RETRY: RetryRules = {
  attempts: 5,
  firstWaitMs: 500,
  longestWaitMs: 30_000,
};

interface RetryOptions {
  readonly rules: RetryRules;
  readonly signal: AbortSignal;
  readonly remainingMs: () => number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Before each wait. */
  readonly onRetry: (error: FabricError, attempt: number, waitMs: number) => void;
}

/**
 * The first success, or the last failure. `attempt` throws nothing but FabricError. A wait that would
 * outlast the turn is not begun: the error comes at once, and says how long the provider wanted.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { rules, signal, remainingMs, wait, onRetry }: RetryOptions,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (cause) {
      const error = FabricError.from(cause);
      if (signal.aborted || !isTransient(error)) throw error;
      const waitMs = waitBefore(error, tries, rules);
      if (tries >= rules.attempts || waitMs > remainingMs()) throw giveUp(error, tries, waitMs);
      onRetry(error, tries, waitMs);
      await wait(waitMs, signal);
    }
  }
}

export function isTransient(error: FabricError): boolean {
  const { retry } = error.row;
  if (retry !== 'depends') return retry !== 'no';
  const { status } = error.details;
  return typeof status === 'number' && (status === 408 || status === 429 || status >= 500);
}

/** What the provider asked for, else doubling from the first wait, with up to half taken off. */
function waitBefore({ details }: FabricError, tries: number, rules: RetryRules): number {
  const asked = details.retry_after_ms;
  if (typeof asked === 'number' && asked >= 0) return asked;
  const { firstWaitMs: firstMs, longestWaitMs: longestMs } = rules;
  return backoffMs({ firstMs, longestMs, tries, jitter: 1 - Math.random() / 2 });
}

function giveUp(error: FabricError, attempts: number, waitMs: number): FabricError {
  const fix = 'try later, check the provider, or raise limits.seconds in agent.json';
  return error.with({ attempts, next_wait_ms: Math.round(waitMs), fix });
}
