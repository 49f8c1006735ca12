// What an agent may ask in the middle of a call, and what it gets back. A question is data from an
// agent: it is shown to the caller, and never followed by the gateway itself.

import { z } from 'zod';

const QUESTION_KINDS = ['text', 'form', 'choice', 'url', 'auth', 'model', 'roots'] as const;

const jsonObject = z.record(z.string(), z.unknown());

export const inputRequestSchema = z.strictObject({
  id: z.string().min(1).max(128).describe('Names the question within its call'),
  kind: z.enum(QUESTION_KINDS),
  message: z.string().describe('The question, for people'),
  url: z.string().optional().describe('Where a person goes to answer (url, auth)'),
  schema: jsonObject.optional().describe('JSON Schema of the content (form)'),
  options: z
    .array(
      z.strictObject({ id: z.string().min(1), label: z.string(), kind: z.string().optional() }),
    )
    .optional()
    .describe('What may be chosen; the content is {choice: <id>}'),
  native: z
    .unknown()
    .optional()
    .describe('The request as the agent wrote it, for a caller of the same protocol'),
  expires_at: z.iso.datetime().optional().describe('When the question is closed'),
});

export const ANSWER_ACTIONS = ['accept', 'decline', 'cancel'] as const;

const inputResponseSchema = z.strictObject({
  id: z.string().min(1).max(128),
  action: z.enum(ANSWER_ACTIONS),
  content: z.unknown().optional(),
  native: z.unknown().optional().describe('The answer in the protocol of the agent'),
});

/** An answer as callers give it: under the id of its question. */
export const givenInputSchema = z.strictObject({
  id: z.string().min(1).max(128),
  response: inputResponseSchema.omit({ id: true }),
});

export type InputRequest = z.infer<typeof inputRequestSchema>;
export type InputResponse = z.infer<typeof inputResponseSchema>;
export type GivenInput = z.infer<typeof givenInputSchema>;

/** How long a question stays open that names no end itself. */
export const QUESTION_MS = 600_000;
