// What an agent reads of an envelope. Fields it does not know are passed over, so that it keeps
// working when envelopes learn new ones.

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createTrace, FabricError, type Trace, traceSchema } from '@starloom/core';
import { z } from 'zod';

export interface AgentCall {
  /** The arguments; `task` is among them. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly stream: boolean;
  readonly trace: Trace;
}

/** Throws BAD_INPUT, or CAPABILITY_NOT_FOUND for a call that is meant for another agent. */
export function parseCall(envelope: unknown, capability: string): AgentCall {
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

export interface ServeOptions {
  /** Loopback port of an HTTP agent; 0 takes a free one. */
  readonly port: number;
  /** What the agent may read. */
  readonly folder: string;
  readonly pauseMs: number;
}

const SLOW_MS = 30;

/** `--port N`, `--folder PATH` and `--slow`, which makes a stream pleasant to watch. */
export function readOptions(args: string[] = process.argv.slice(2)): ServeOptions {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: 'string', default: '0' },
      folder: { type: 'string', default: '.' },
      slow: { type: 'boolean', default: false },
    },
  });
  return {
    port: Number(values.port),
    folder: resolve(values.folder),
    pauseMs: values.slow ? SLOW_MS : 0,
  };
}
