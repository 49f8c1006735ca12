import { z } from 'zod';

const bytes = z.int().positive();
const ms = z.int().positive();

/** Bindings as A2A names them in a card. */
export const BINDINGS = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' } as const;

export const a2aOptionsSchema = z.strictObject({
  binding: z
    .enum(['jsonrpc', 'rest', 'grpc'])
    .optional()
    .describe('Binding to use; default: the first usable one in the card'),
  version: z
    .enum(['1.0', '0.3'])
    .optional()
    .describe('Protocol version to use, even if the card names another one'),
  url: z
    .url({ protocol: /^(https?|grpcs?)$/ })
    .optional()
    .describe('Where the agent serves calls, if the address in its card is wrong'),
  origins: z
    .array(z.string().min(1))
    .max(32)
    .default([])
    .describe('Other origins that the card may name: https://host, grpc://host:port, grpcs://…'),
  allow_private: z
    .boolean()
    .default(false)
    .describe('Allows names in `origins` to resolve to private addresses'),
  card_keys: z
    .array(z.looseObject({ kty: z.enum(['EC', 'RSA', 'OKP']), kid: z.string().optional() }))
    .min(1)
    .max(16)
    .optional()
    .describe('Public keys (JWK); the card must be signed with one of them'),
  max_result_bytes: bytes.default(4_000_000).describe('Largest answer or stream event'),
  max_stream_bytes: bytes.default(67_108_864).describe('Largest stream in total'),
  card_timeout_ms: ms.default(10_000).describe('Time limit for reading the card'),
  idle_ms: ms.default(120_000).describe('Time without news after which a task is joined again'),
  push: z
    .boolean()
    .default(true)
    .describe('Lets an agent that cannot stream notify the gateway of its tasks'),
  poll_interval_ms: ms.default(1_000).describe('Longest wait between two polls of a task'),
});

export type A2aOptions = z.infer<typeof a2aOptionsSchema>;
