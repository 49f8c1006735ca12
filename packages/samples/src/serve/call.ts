// What an agent reads of an envelope. Fields it does not know are passed over, so that it keeps
// working when envelopes learn new ones.

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createTrace, FabricError, traceSchema } from '@starloom/core';
import { z } from 'zod';

/** Throws BAD_INPUT, or CAPABILITY_NOT_FOUND for a call that is meant for another agent. */
export function parseCall(envelope: unknown, capability: string) {
  const parsed = envelopeSchema.safeParse(envelope);
  if (!parsed.success) {
    const problems = z.prettifyError(parsed.error).split('\n');
    const details = { reason: 'envelope', problems, fix: 'send {trace, target, input, response}' };
    throw new FabricError('BAD_INPUT', 'This is no envelope', { details });
  }
  const { trace, target, input, response } = parsed.data;
  if (target.capability !== capability) {
    throw new FabricError('CAPABILITY_NOT_FOUND', `No capability "${target.capability}"`, {
      details: { known: [capability], fix: 'call a capability of the manifest' },
    });
  }
  const task = input.task === undefined ? {} : { task: input.task };
  return { input: { ...task, ...input.arguments }, stream: response.stream, trace };
}

const envelopeSchema = z.object({
  trace: traceSchema.default(createTrace),
  target: z.object({ capability: z.string() }),
  input: z.object({
    task: z.string().optional(),
    arguments: z.record(z.string(), z.unknown()).optional(),
  }),
  response: z.object({ stream: z.boolean().default(false) }).default({ stream: false }),
});

/** The error for the caller. The details of a bug go only to the log, which is stderr. */
export function toFailure(thrown: unknown): FabricError {
  const failure = FabricError.from(thrown);
  if (failure.code === 'INTERNAL') console.error(failure.cause ?? failure);
  return failure;
}

/** `--port N` of an HTTP agent, 0 for a free one, and `--folder PATH`, which the agent may read. */
export function readOptions(args: string[]) {
  const options = {
    port: { type: 'string', default: '0' },
    folder: { type: 'string', default: '.' },
  } as const;
  const { values } = parseArgs({ args, options });
  return { port: Number(values.port), folder: resolve(values.folder) };
}
