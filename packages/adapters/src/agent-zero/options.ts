import { z } from 'zod';
import { httpOptionsSchema } from '../http/options.ts';

export const LANES = ['mcp', 'http', 'a2a', 'rfc'] as const;

const pythonPath = z.string().regex(/^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$/, {
  error: 'expected a module and a function, as in "helpers.rfc_files.read_file"',
});

export const agentZeroOptionsSchema = httpOptionsSchema.extend({
  lane: z
    .enum(['auto', ...LANES])
    .default('auto')
    .describe('Which of its interfaces is used; auto takes the first of mcp, http, a2a it serves'),
  project: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .optional()
    .describe('The project it works in'),
  profile: z.string().min(1).optional().describe('The agent profile of new chats; http only'),
  keep_chats: z
    .boolean()
    .default(true)
    .describe('Chats stay at the agent, so that conversations go on; not with a2a'),
  terminate_on_cancel: z
    .boolean()
    .default(false)
    .describe('Ends the chat of a call that is cancelled, with all it remembers; http only'),
  poll_ms: z.int().min(10).max(60_000).default(1_000).describe('Longest wait between two polls'),
  functions: z
    .record(z.string().regex(/^[A-Za-z0-9_.:-]{1,64}$/), pythonPath)
    .default({})
    .describe('What rfc may call: capability → module and function. Nothing else is called'),
});

export type AgentZeroOptions = z.infer<typeof agentZeroOptionsSchema>;
export type LaneName = (typeof LANES)[number];
