import { z } from 'zod';
import { httpOptionsSchema } from '../http/options.ts';

export const agentCommunicationProtocolOptionsSchema = httpOptionsSchema.extend({
  mode: z
    .enum(['stream', 'async', 'sync'])
    .default('stream')
    .describe('How runs are made: stream, async (polled), sync (cannot be cancelled)'),
  poll_ms: z.int().min(10).max(60_000).default(500).describe('Longest wait between two polls'),
});

export type RunOptions = z.infer<typeof agentCommunicationProtocolOptionsSchema>;
