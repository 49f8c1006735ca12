import { z } from 'zod';
import { pointerSchema } from './json-pointer.ts';
import { historyShape } from './profiles/history.ts';
import { templateShape } from './template/options.ts';
import { treeSchema } from './template/placeholders.ts';

const bytes = z.int().positive();

export const httpOptionsSchema = z.strictObject({
  max_result_bytes: bytes.default(16_777_216).describe('Largest document, line or stream event'),
  max_stream_bytes: bytes.default(67_108_864).describe('Largest stream in total'),
  health_timeout_ms: z.int().positive().default(5_000).describe('Time limit for a health check'),
});

const modelShape = {
  model: z.string().min(1).optional().describe('Model; a capability may name another one in tool'),
  system: z.string().optional().describe('Instructions before the task'),
  body: z
    .record(z.string(), z.json())
    .default({})
    .describe('Other fields of each request, such as temperature'),
};

const langGraphShape = {
  assistant: z.string().min(1).optional().describe('Assistant of capabilities without a tool'),
  input: treeSchema.optional().describe('First state of a run, with places; default: messages'),
  answer: pointerSchema.optional().describe('Pointer to the answer; default: the last message'),
  config: z.record(z.string(), z.json()).optional().describe('Configuration of each run'),
};

/** What `endpoint.options` of an agent with `protocol: http` may hold, by profile. */
export const httpAdapterOptionsSchema = z.discriminatedUnion('profile', [
  httpOptionsSchema.extend({
    profile: z.literal('envelope').default('envelope').describe('How the agent is spoken to'),
  }),
  httpOptionsSchema.extend({ profile: z.literal('template'), ...templateShape }),
  httpOptionsSchema.extend({ profile: z.literal('openai-chat'), ...modelShape, ...historyShape }),
  httpOptionsSchema.extend({ profile: z.literal('openai-responses'), ...modelShape }),
  httpOptionsSchema.extend({
    profile: z.literal('ag-ui'),
    ...historyShape,
    forwarded: z.record(z.string(), z.json()).default({}).describe('forwardedProps of each run'),
  }),
  httpOptionsSchema.extend({ profile: z.literal('langgraph'), ...langGraphShape }),
  httpOptionsSchema.extend({
    profile: z.literal('openapi'),
    document: z.string().min(1).describe('OpenAPI document: address or file'),
  }),
]);

export type HttpAdapterOptions = z.infer<typeof httpAdapterOptionsSchema>;

/** The options of one profile. */
export type OptionsOf<Name extends HttpAdapterOptions['profile']> = Extract<
  HttpAdapterOptions,
  { readonly profile: Name }
>;
