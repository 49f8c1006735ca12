import { type ErrorDetails, type EventBody, FabricError } from '@starloom/core';
import type { Excerpt } from '@starloom/wire';

/** Reads the body of one answer, chunk by chunk; whatever it throws fails the call. */
export interface AnswerReader {
  /** What is in a chunk may come in steps, each taken when there is room for it. */
  push(chunk: Buffer): Iterator<unknown> | undefined;
  end(): void;
}

export interface AnswerLimits {
  /** Of a JSON answer, and of each event of a stream. */
  readonly maxResultBytes: number;
  readonly maxStreamBytes: number;
}

/** What a reader gives its items to: events of ours, or values of a protocol. */
export interface ReaderContext<Item = EventBody> {
  readonly limits: AnswerLimits;
  readonly excerpt: Excerpt;
  emit(item: Item): void;
  /** Called with the type of each event that the adapter does not use. */
  passOver(type: string): void;
}

export function answerError(message: string, details: ErrorDetails): FabricError {
  return new FabricError('UPSTREAM_ERROR', message, { details });
}
