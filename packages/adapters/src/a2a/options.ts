import { z } from 'zod';

const bytes = z.int().positive();
const ms = z.int().positive();

/** Bindings as A2A names them in a card. */
export const BINDINGS = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' } as const;

export const a2aOptionsSchema = z.strictObject({
  binding: z
    .enum(['jsonrpc', 'rest', 'grpc'])
    .optional()
    .describe('Binding to use; default: the first of the card that may be used'),
  version: z
    .enum(['1.0', '0.3'])
    .optional()
    .describe('Protocol version to use, also where the card does not name it'),
  url: z
    .url({ protocol: /^(https?|grpcs?)$/ })
    .optional()
    .describe('Where the agent serves its calls, when the address in its card is wrong'),
  origins: z
    .array(z.string().min(1))
    .max(32)
    .default([])
    .describe('Other origins the card may point to: https://host, grpc://host:port, grpcs://…'),
  allow_private: z
    .boolean()
    .default(false)
    .describe('May names among `origins` resolve to private addresses?'),
  card_keys: z
    .array(z.looseObject({ kty: z.enum(['EC', 'RSA', 'OKP']), kid: z.string().optional() }))
    .min(1)
    .max(16)
    .optional()
    .describe('Public keys (JWK); one of them must have signed the card'),
  max_result_bytes: bytes.default(4_000_000).describe('Largest answer, or event of a stream'),
  max_stream_bytes: bytes.default(67_108_864).describe('Largest stream in all'),
  card_timeout_ms: ms.default(10_000).describe('How long the card may take'),
  idle_ms: ms
    .default(120_000)
    .describe('After so long without a word about a task it is joined again'),
  push: z
    .boolean()
    .default(true)
    .describe('May the agent notify the gateway of its tasks, where it cannot stream?'),
  poll_interval_ms: ms.default(1_000).describe('Longest wait between two looks at a task'),
});

export type A2aOptions = z.infer<typeof a2aOptionsSchema>;
