import { resolve } from 'node:path';
import type { Manifest } from '@starloom/core';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import { type AgentProgram, programOptions, toProgram } from '../upstream/program.ts';

const ms = z.int().nonnegative();

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
    .enum(['ask', 'allow', 'deny'])
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

/** How an agent is started and what it may do, all from its manifest. */
export interface Settings extends AgentProgram {
  readonly options: AgentClientProtocolOptions;
  /** Of the sessions: absolute, as the protocol wants it. */
  readonly cwd: string;
  readonly root: string | undefined;
}

export function parseSettings(manifest: Manifest): Settings {
  const options = parseOptions(agentClientProtocolOptionsSchema, manifest);
  if (options.terminal && options.root === undefined) {
    throw failure('bad_options/no_root', { agent_id: manifest.agent_id });
  }
  const root = options.root === undefined ? undefined : resolve(options.root);
  const cwd = resolve(options.cwd ?? root ?? '.');
  return { ...toProgram(manifest, options, { cwd }), options, cwd, root };
}
