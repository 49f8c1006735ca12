// The local-process contract: envelopes and cancellations come in as lines of JSON on stdin, events
// go out as lines on stdout. Many calls at once; the span id on every line identifies its call.

import { createTrace, EventStamper, traceSchema } from '@starloom/core';
import { readNdjson, writeNdjson } from '@starloom/wire';
import { z } from 'zod';
import { runAgent, type SampleAgent } from '../agent.ts';
import { parseCall, toFailure } from './call.ts';

const MAX_LINE_BYTES = 8_388_608;

const lineSchema = z.union([
  z.object({ cancel: z.string() }),
  z.object({ envelope: z.looseObject({ trace: traceSchema.default(createTrace) }) }),
]);

/** Resolves when stdin has ended; calls still at work are finished. */
export async function serveLines<Input>(agent: SampleAgent<Input>): Promise<void> {
  const calls = new Map<string, AbortController>();
  const serve = async (envelope: Envelope) => {
    const { span_id } = envelope.trace;
    const control = new AbortController();
    calls.set(span_id, control);
    for await (const line of answer(agent, envelope, control.signal)) {
      await writeNdjson(process.stdout, { span_id, ...line });
    }
    calls.delete(span_id);
  };
  process.stdout.on('error', () => process.exit(1));
  for await (const line of readNdjson(process.stdin, { maxLineBytes: MAX_LINE_BYTES })) {
    const message = lineSchema.parse(line);
    if ('cancel' in message) calls.get(message.cancel)?.abort();
    else void serve(message.envelope);
  }
}

type Envelope = Extract<z.infer<typeof lineSchema>, { envelope: unknown }>['envelope'];

async function* answer<Input>(agent: SampleAgent<Input>, envelope: Envelope, signal: AbortSignal) {
  const stamper = new EventStamper(envelope.trace, Date.now);
  try {
    const { input } = parseCall(envelope, agent.capability);
    for await (const body of runAgent(agent, input, signal)) yield stamper.stamp(body, agent.id);
  } catch (thrown) {
    const { code, message, details } = toFailure(thrown);
    yield { type: 'error', error: { code, message, details } };
  }
}
