// One answer as the items that its reader makes of it, read no faster than they are consumed and by
// turns with other streams. Leaving early closes the connection, which shows the agent that no caller
// waits; after a final or a failure the rest of the answer may end, so that the connection is kept.

import { type EventBody, FabricError, type Log } from '@starloom/core';
import { type Excerpt, type HttpAnswer, type HttpHead, streamTurns } from '@starloom/wire';
import type { AnswerLimits, AnswerReader, ReaderContext } from './answer-reader.ts';

export interface ExchangeOptions<Item> {
  /** Chosen when the head of the answer is there. */
  readonly readerFor: (head: HttpHead, context: ReaderContext<Item>) => AnswerReader;
  readonly limits: AnswerLimits;
  readonly excerpt: Excerpt;
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** The items up to the final; what a reader emitted before it failed comes before its failure. */
export async function* readItems<Item extends { readonly type: string } = EventBody>(
  answer: HttpAnswer,
  { readerFor, limits, excerpt, signal, log }: ExchangeOptions<Item>,
): AsyncGenerator<Item, void, undefined> {
  const emitted: Item[] = [];
  let isOver = false;
  const context: ReaderContext<Item> = {
    limits,
    excerpt,
    emit(item) {
      if (!isOver) emitted.push(item);
      isOver ||= item.type === 'final';
    },
    passOver(type) {
      log.debug({ type: excerpt(type) }, 'an event of the agent is passed over');
    },
  };
  function* take(read: () => void): Generator<Item, void, undefined> {
    try {
      read();
    } catch (error) {
      yield* emitted.splice(0);
      if (isOver) return;
      isOver = true;
      throw error;
    }
    for (const item of emitted.splice(0)) {
      yield item;
      if (signal.aborted) throw FabricError.from(signal.reason);
    }
  }
  try {
    const head = await answer.head;
    let reader: AnswerReader | undefined;
    yield* take(() => {
      reader = readerFor(head, context);
    });
    for await (const chunk of answer.body()) {
      let steps: Iterator<unknown> | undefined;
      yield* take(() => {
        steps = reader?.push(chunk);
      });
      for (let isMore = steps !== undefined; isMore && !isOver; ) {
        const turn = streamTurns.enter();
        if (turn) await turn;
        yield* take(() => {
          isMore = steps?.next().done === false;
        });
      }
      if (isOver) return;
    }
    yield* take(() => reader?.end());
  } catch (error) {
    isOver = true;
    throw error;
  } finally {
    if (isOver) answer.leave();
    else answer.abort(NOBODY_READS);
  }
}

export const NOBODY_READS = new FabricError('CANCELLED', 'The caller stopped reading the answer');
