import { z } from 'zod';

const bytes = z.int().positive();

export const localProcessOptionsSchema = z.strictObject({
  pooled: z.boolean().default(false).describe('One process for all calls, not one per call'),
  max_line_bytes: bytes.default(16_777_216).describe('Longest line the agent may write'),
  max_output_bytes: bytes.default(67_108_864).describe('All it may write for one call'),
  grace_ms: z.int().nonnegative().default(2_000).describe('From cancel to end, and end to kill'),
  cwd: z.string().min(1).optional().describe('Folder it runs in; default: that of the gateway'),
});
