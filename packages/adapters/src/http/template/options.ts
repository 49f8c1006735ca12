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

const requestSchema = z.strictObject({
  method: z.enum(METHODS).default('POST').describe('HTTP method'),
  path: z
    .union([fixedPath, z.array(z.union([placeSchema, fixedSegment])).min(1)])
    .optional()
    .describe('Path below endpoint.uri: a text, or a list of segments and places'),
  query: z.record(z.string().min(1), value).default({}).describe('Values, or places for them'),
  headers: z.record(headerName, value).default({}).describe('Values, or places for them'),
  body: treeSchema.optional().describe('JSON, with places in it'),
});

const answerSchema = z.strictObject({
  text: pointerSchema.optional().describe('Pointer to the answer in the document'),
  data: pointerSchema.optional().describe('Pointer to the structured data'),
  citations: pointerSchema.optional().describe('Pointer to the list of sources'),
  error: pointerSchema.optional().describe('Pointer to an error in a successful answer'),
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
  where: z.record(pointerSchema, z.json()).default({}).describe('Values by their pointers'),
  emit: z.enum(EMITTED).describe('Event that the gateway makes of it'),
  data: treeSchema.default({}).describe('Data of that event, with places'),
});

const pollSchema = z.strictObject({
  request: requestSchema.optional().describe('How the state is read, as request; with /start/body'),
  url: placeSchema.optional().describe('Instead: a place for the address that the agent named'),
  state: pointerSchema.describe('Pointer to the state'),
  done: z.array(z.json()).min(1).describe('States with an answer'),
  failed: z.array(z.json()).default([]).describe('States without an answer'),
  progress: treeSchema.optional().describe('Data of a progress event, with places'),
  every_ms: z.int().min(10).max(60_000).default(1_000).describe('Longest wait between two polls'),
  max_polls: z.int().min(1).max(100_000).default(10_000).describe('Maximum number of polls'),
});

const callShape = {
  request: requestSchema.optional().describe('Request that is sent for a call'),
  answer: answerSchema.optional().describe('How the answer is read'),
  events: z
    .array(ruleSchema)
    .max(100)
    .optional()
    .describe('How a stream is read; the first rule counts'),
  done: z.string().min(1).optional().describe('Data that ends a stream, such as [DONE]'),
  conversation: z
    .record(z.string().min(1), pointerSchema)
    .optional()
    .describe('Values to keep of an answer; later calls find them at /conversation/<name>'),
  poll: pollSchema
    .refine(({ request, url }) => (request === undefined) !== (url === undefined), {
      error: 'expected either request or url',
    })
    .optional()
    .describe('How to poll an agent that answers later'),
  cancel: requestSchema.optional().describe('Sent when a call ends early, as request'),
};

const callSchema = z.strictObject(callShape);

export const templateShape = {
  ...callShape,
  calls: z
    .record(z.string(), callSchema)
    .default({})
    .describe('By capability: request, answer or poll of its own'),
  health: fixedPath.optional().describe('Path of health checks'),
};

export type RequestTemplate = z.infer<typeof requestSchema>;
export type AnswerTemplate = z.infer<typeof answerSchema>;
export type EventRule = z.infer<typeof ruleSchema>;
export type PollTemplate = z.infer<typeof pollSchema>;
export type CallTemplate = z.infer<typeof callSchema>;
