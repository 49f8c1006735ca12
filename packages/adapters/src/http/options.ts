import { z } from 'zod';

const bytes = z.int().positive();

export const httpOptionsSchema = z.strictObject({
  max_result_bytes: bytes.default(16_777_216).describe('Largest document, line or stream event'),
  max_stream_bytes: bytes.default(67_108_864).describe('Largest stream in total'),
  health_timeout_ms: z.int().positive().default(5_000).describe('Time limit for a health check'),
});
