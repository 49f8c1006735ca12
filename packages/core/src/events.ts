// What comes back of a call: a stream of events, ended by exactly one `final` or one thrown error.
// Adapters yield bodies; the owner of the call stamps them with seq, time, trace and agent.

import { z } from 'zod';
import { toIsoTime } from './clock.ts';
import { agentIdSchema } from './names.ts';
import { traceSchema } from './payload-schemas.ts';
import { inputRequestSchema } from './questions.ts';
import type { Trace } from './trace.ts';

const CALL_STATES = [
  'accepted',
  'routed',
  'started',
  'retrying',
  'discard',
  'degraded',
  'awaiting_input',
] as const;

const statusData = z.strictObject({
  state: z.enum(CALL_STATES),
  message: z.string().optional(),
  inputs: z.array(inputRequestSchema).optional().describe('What is asked, while awaiting_input'),
});

const tokenData = z.strictObject({ text: z.string() });

const toolCallData = z.strictObject({
  id: z.string().min(1),
  name: z.string().min(1),
  args: z.unknown(),
  phase: z.enum(['start', 'end']),
  result: z.unknown().optional(),
});

const countedSchema = z.strictObject({ progress: z.number(), total: z.number().optional() });

const progressData = z.strictObject({
  percent: z.number().min(0).max(100).optional(),
  message: z.string().optional(),
  upstream: countedSchema
    .optional()
    .describe('As an MCP agent counts, for faces of the same protocol'),
});

const artifactData = z.strictObject({
  id: z.string().min(1).max(256).describe('The same for all pieces of one artifact'),
  name: z.string().optional(),
  media_type: z.string().min(1),
  text: z.string().optional(),
  data: z.base64().optional().describe('Bytes, base64'),
  uri: z.string().optional().describe('Where it is, when it is not sent along'),
  append: z.boolean().optional().describe('Adds to what was sent before under this id'),
  last: z.boolean().optional().describe('No piece follows'),
});

const citationSchema = z.looseObject({
  title: z.string().optional(),
  uri: z.string().optional(),
  text: z.string().optional(),
});

const finalData = z.strictObject({
  answer: z.string(),
  citations: z.array(citationSchema).optional(),
  data: z.unknown().optional(),
  content: z.array(z.looseObject({ type: z.string() })).optional(),
  upstream: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('The result as the agent wrote it, for faces of the same protocol'),
});

const bodies = {
  status: z.strictObject({ type: z.literal('status'), data: statusData }),
  token: z.strictObject({ type: z.literal('token'), data: tokenData }),
  tool_call: z.strictObject({ type: z.literal('tool_call'), data: toolCallData }),
  progress: z.strictObject({ type: z.literal('progress'), data: progressData }),
  artifact: z.strictObject({ type: z.literal('artifact'), data: artifactData }),
  final: z.strictObject({ type: z.literal('final'), data: finalData }),
};

const stamp = {
  seq: z.int().positive(),
  at: z.iso.datetime(),
  trace: traceSchema,
  agent_id: agentIdSchema,
};

/** What an agent said, before it has a place in the stream. */
export const eventBodySchema = z.discriminatedUnion('type', [
  bodies.status,
  bodies.token,
  bodies.tool_call,
  bodies.progress,
  bodies.artifact,
  bodies.final,
]);

export const eventSchema = z.discriminatedUnion('type', [
  bodies.status.extend(stamp),
  bodies.token.extend(stamp),
  bodies.tool_call.extend(stamp),
  bodies.progress.extend({ ...stamp, data: progressData.omit({ upstream: true }) }),
  bodies.artifact.extend(stamp),
  bodies.final.extend(stamp),
]);

export type EventBody = z.infer<typeof eventBodySchema>;
export type FabricEvent = z.infer<typeof eventSchema>;
export type EventType = EventBody['type'];
export type ArtifactData = z.infer<typeof artifactData>;
export type FinalData = z.infer<typeof finalData>;
export type Counted = z.infer<typeof countedSchema>;
export type Citation = z.infer<typeof citationSchema>;

/** Numbers the events of one call from 1 without gaps. */
export class EventStamper {
  #seq = 0;
  readonly #trace: Trace;
  readonly #now: () => number;

  constructor(trace: Trace, now: () => number) {
    this.#trace = trace;
    this.#now = now;
  }

  stamp(body: EventBody, agentId: string): FabricEvent {
    this.#seq += 1;
    return {
      type: body.type,
      seq: this.#seq,
      at: toIsoTime(this.#now()),
      trace: this.#trace,
      agent_id: agentId,
      data: countedIn(body) ? withoutUpstream(body.data) : body.data,
    } as FabricEvent;
  }
}

/** How an MCP agent counts, when the body is its progress. */
export function countedIn(body: EventBody): Counted | undefined {
  return body.type === 'progress' ? body.data.upstream : undefined;
}

function withoutUpstream(data: EventBody['data']): object {
  const { upstream: _, ...rest } = data as z.infer<typeof progressData>;
  return rest;
}
