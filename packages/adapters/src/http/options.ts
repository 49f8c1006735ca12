import { z } from 'zod';

const bytes = z.int().positive();

export const httpOptionsSchema = z.strictObject({
  max_result_bytes: bytes.default(16_777_216).describe('Largest JSON answer, or event of a stream'),
  max_stream_bytes: bytes.default(67_108_864).describe('Largest stream in all'),
  health_timeout_ms: z.int().positive().default(5_000).describe('How long a health check waits'),
});
