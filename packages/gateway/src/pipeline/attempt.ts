// One attempt at one agent: its events pass through as they come, bounded in time and size here at
// the adapter's boundary, whatever the adapter itself does.

import {
  type Adapter,
  type CallContext,
  type Envelope,
  type EventBody,
  FabricError,
  orAborted,
  type ResultFold,
} from '@starloom/core';
import { streamTurns } from '@starloom/wire';

export interface AttemptLimits {
  /** Largest answer, in characters of text. */
  readonly resultLength: number;
}

/** Runs the attempt; resolves after `final`, with everything folded. Throws only FabricError. */
export async function runAttempt(
  adapter: Adapter,
  envelope: Envelope,
  context: CallContext,
  fold: ResultFold,
  limits: AttemptLimits,
  onEvent: (body: EventBody) => Promise<void> | undefined,
): Promise<void> {
  const events = adapter.call(envelope, context)[Symbol.asyncIterator]();
  let length = 0;
  try {
    while (true) {
      const next = await orAborted(events.next(), context.signal);
      if (next.done) throw brokenOff();
      const body = next.value;
      length += textLength(body);
      if (length > limits.resultLength) throw tooLarge(limits.resultLength);
      fold.add(body);
      if (body.type === 'final') return;
      await onEvent(body);
      await streamTurns.enter();
    }
  } catch (error) {
    throw FabricError.from(error);
  } finally {
    closeQuietly(events, context);
  }
}

/** Tells the adapter that the consumer does not read on; its answer to that is not waited for. */
function closeQuietly(events: AsyncIterator<EventBody>, context: CallContext): void {
  events.return?.().catch((error: unknown) => {
    context.log.debug({ error: FabricError.from(error) }, 'closing an attempt failed');
  });
}

function textLength({ type, data }: EventBody): number {
  if (type === 'token') return data.text.length;
  if (type === 'artifact') return 64 + (data.text ?? data.data ?? '').length;
  return type === 'final' ? data.answer.length : 0;
}

function brokenOff(): FabricError {
  return new FabricError('UPSTREAM_ERROR', 'The agent ended its answer without a result', {
    details: { reason: 'no_final' },
  });
}

function tooLarge(limit: number): FabricError {
  return new FabricError('UPSTREAM_ERROR', `The answer is larger than ${limit}`, {
    details: {
      reason: 'result_too_large',
      limit,
      fix: 'raise limits.result_bytes, or ask for less',
    },
  });
}
