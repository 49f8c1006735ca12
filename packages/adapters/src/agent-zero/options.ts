import { z } from 'zod';
import { httpOptionsSchema } from '../http/options.ts';

const LANES = ['mcp', 'http', 'a2a', 'rfc'] as const;

const pythonPath = z.string().regex(/^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$/, {
  error: 'expected a module and a function, as in "helpers.rfc_files.read_file"',
});

export const agentZeroOptionsSchema = httpOptionsSchema.extend({
  lane: z
    .enum(['auto', ...LANES])
    .default('auto')
    .describe('Interface to use; auto: the first of mcp, http and a2a that the agent serves'),
  project: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .optional()
    .describe('Project that the agent works in'),
  profile: z.string().min(1).optional().describe('Agent profile of new chats; http only'),
  keep_chats: z
    .boolean()
    .default(true)
    .describe('Keeps chats, so that conversations continue; not with a2a'),
  terminate_on_cancel: z
    .boolean()
    .default(false)
    .describe('Ends the chat of a cancelled call, with everything it remembers; http only'),
  poll_ms: z.int().min(10).max(60_000).default(1_000).describe('Longest wait between two polls'),
  functions: z
    .record(z.string().regex(/^[A-Za-z0-9_.:-]{1,64}$/), pythonPath)
    .default({})
    .describe('The only functions that rfc may call: capability → module and function'),
});

export type AgentZeroOptions = z.infer<typeof agentZeroOptionsSchema>;
export type LaneName = (typeof LANES)[number];
