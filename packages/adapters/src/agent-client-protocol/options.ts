import { z } from 'zod';
import { programOptions } from '../upstream/program.ts';

const ms = z.int().nonnegative();

const PERMISSION_POLICIES = ['ask', 'allow', 'deny'] as const;

export const agentClientProtocolOptionsSchema = z.strictObject({
  ...programOptions,
  cwd: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of the program and its sessions; default: root, else that of the gateway'),
  root: z
    .string()
    .min(1)
    .optional()
    .describe('Folder in which the gateway serves files; links outside are refused'),
  files: z.enum(['read', 'write']).default('write').describe('What it may do with files in root'),
  terminal: z.boolean().default(false).describe('Lets the agent run programs in root'),
  permissions: z
    .enum(PERMISSION_POLICIES)
    .default('ask')
    .describe('Answer to requests for permission: ask the caller, always allow, always deny'),
  auth_method: z.string().min(1).optional().describe('Login method, by its id at the agent'),
  mode: z.string().min(1).optional().describe('Session mode, by its id at the agent'),
  config: z
    .record(z.string(), z.union([z.string(), z.boolean()]))
    .optional()
    .describe('Session options by their ids at the agent, such as the model'),
  processes: z.int().min(1).max(32).default(1).describe('Processes that share the sessions'),
  sessions: z.int().positive().default(64).describe('Idle sessions kept per process'),
  idle_ms: ms
    .default(300_000)
    .describe('Ends a process without calls, unless a conversation would be lost'),
  start_timeout_ms: z
    .int()
    .positive()
    .default(120_000)
    .describe('Time limit of a start; npx may download first'),
});

export type AgentClientProtocolOptions = z.infer<typeof agentClientProtocolOptionsSchema>;
export type PermissionPolicy = (typeof PERMISSION_POLICIES)[number];
