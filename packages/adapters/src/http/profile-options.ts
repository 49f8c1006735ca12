// What `endpoint.options` of an agent with `protocol: http` may hold, by profile.

import { z } from 'zod';
import { httpOptionsSchema } from './options.ts';
import { historyShape } from './profiles/history.ts';
import { langGraphShape } from './profiles/langgraph-options.ts';
import { modelShape } from './profiles/model-options.ts';
import { templateShape } from './template/options.ts';

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
