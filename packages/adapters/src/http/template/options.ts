// The template profile: requests and answers of an agent over HTTP, described in its manifest.

import { z } from 'zod';
import { pointerSchema } from '../json-pointer.ts';
import { placeSchema, treeSchema } from './placeholders.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** A path of the manifest itself: below the address of the agent, without dots and escapes. */
const fixedPath = z.string().regex(/^(?:\/(?!\.{1,2}(?:\/|$))[\w.~!$&'()*+,;=:@-]*)+$/, {
  error: 'expected a path such as /v1/ask',
});
const fixedSegment = z.string().regex(/^(?!\.{1,2}$)[\w.~!$&'()*+,;=:@-]+$/, {
  error: 'expected one segment of a path, such as v1',
});
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/);
const fixedValue = z.union([z.string(), z.number(), z.boolean()]);
const value = z.union([placeSchema, fixedValue]);

export const requestSchema = z.strictObject({
  method: z.enum(METHODS).default('POST'),
  path: z
    .union([fixedPath, z.array(z.union([placeSchema, fixedSegment])).min(1)])
    .optional()
    .describe('Below endpoint.uri: a text, or a list of segments, some of them places'),
  query: z.record(z.string().min(1), value).default({}).describe('Values, or places for them'),
  headers: z.record(headerName, value).default({}).describe('Values, or places for them'),
  body: treeSchema.optional().describe('JSON, with places in it'),
});

const answerSchema = z.strictObject({
  text: pointerSchema.optional().describe('Where the answer stands in the document'),
  data: pointerSchema.optional().describe('Where the structured data stands'),
  citations: pointerSchema.optional().describe('Where the list of sources stands'),
  error: pointerSchema.optional().describe('Where an error stands, in a document of a success'),
});

const EMITTED = [
  'status',
  'token',
  'tool_call',
  'progress',
  'artifact',
  'final',
  'error',
  'nothing',
] as const;

const ruleSchema = z.strictObject({
  event: z.string().min(1).optional().describe('Name of the server-sent event'),
  where: z.record(pointerSchema, z.json()).default({}).describe('Pointers and the values there'),
  emit: z.enum(EMITTED).describe('Which event of ours it is'),
  data: treeSchema.default({}).describe('The data of that event, with places for its document'),
});

const pollSchema = z.strictObject({
  request: requestSchema.optional().describe('How the state is read; places may begin /start/body'),
  url: placeSchema.optional().describe('Instead: where the agent said that the state is'),
  state: pointerSchema.describe('Where the state stands'),
  done: z.array(z.json()).min(1).describe('States in which the answer is there'),
  failed: z.array(z.json()).default([]).describe('States in which there will be none'),
  progress: treeSchema.optional().describe('Data of a progress event, with places'),
  every_ms: z.int().min(10).max(60_000).default(1_000).describe('Longest wait between two polls'),
  max_polls: z.int().min(1).max(100_000).default(10_000),
});

const callShape = {
  request: requestSchema.optional().describe('What is sent for a call'),
  answer: answerSchema.optional().describe('What is read of the answer'),
  events: z.array(ruleSchema).max(100).optional().describe('What is read of a stream'),
  done: z.string().min(1).optional().describe('Data that ends a stream, such as [DONE]'),
  conversation: z
    .record(z.string().min(1), pointerSchema)
    .optional()
    .describe('What is kept of an answer; later calls find it at /conversation/<name>'),
  poll: pollSchema
    .refine(({ request, url }) => (request === undefined) !== (url === undefined), {
      error: 'expected either request or url',
    })
    .optional()
    .describe('For agents that answer later'),
  cancel: requestSchema.optional().describe('What is sent when a call ends early'),
};

export const callSchema = z.strictObject(callShape);

export const templateShape = {
  ...callShape,
  calls: z
    .record(z.string(), callSchema)
    .default({})
    .describe('By capability: what differs from the rest'),
  health: fixedPath.optional().describe('Path of health checks'),
};

export type RequestTemplate = z.infer<typeof requestSchema>;
export type AnswerTemplate = z.infer<typeof answerSchema>;
export type EventRule = z.infer<typeof ruleSchema>;
export type PollTemplate = z.infer<typeof pollSchema>;
export type CallTemplate = z.infer<typeof callSchema>;
