import { oauthOptionsSchema } from '@starloom/mcp-client/oauth-options';
import { z } from 'zod';

export const mcpOptionsSchema = z.strictObject({
  result_bytes: z.int().positive().default(16_777_216).describe('Largest message of the agent'),
  connect_timeout_ms: z.int().positive().default(60_000).describe('Time limit of connecting'),
  cwd: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of a stdio agent; default: that of the gateway'),
  connections: z.int().positive().default(256).describe('Most sockets to an http agent'),
  oauth: oauthOptionsSchema.optional().describe('How the gateway gets tokens for an http agent'),
});

export type McpOptions = z.infer<typeof mcpOptionsSchema>;
