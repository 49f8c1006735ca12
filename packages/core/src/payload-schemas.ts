// The schemas of a trace and of a failure. Threads load both without them: zod is most of their start.

import { z } from 'zod';
import { ERRORS, type ErrorCode } from './errors.ts';
import { HEX_ID } from './trace.ts';

/** 32 hex digits, shown as a UUID. */
const hexIdSchema = z.string().regex(HEX_ID, 'expected 32 hex digits written as a UUID');

export const traceSchema = z.strictObject({
  trace_id: hexIdSchema,
  span_id: hexIdSchema,
  parent_span_id: hexIdSchema.nullable(),
});

export const errorPayloadSchema = z.strictObject({
  ok: z.literal(false),
  error: z.strictObject({
    code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    message: z.string().describe('One sentence for people'),
    details: z.record(z.string(), z.unknown()).describe('What it was about, and often a fix'),
  }),
  trace: traceSchema.nullable(),
});
