// The program of an agent: its options, which every adapter that starts one takes, and its start.

import type { Log, Manifest } from '@starloom/core';
import {
  childEnvironment,
  type Excerpt,
  type ManagedProcess,
  type ProcessOptions,
  spawnProcess,
} from '@starloom/wire';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import { ISOLATION_LEVELS, type Isolation, isolate } from './isolation.ts';

const bytes = z.int().positive();

export const programOptions = {
  max_line_bytes: bytes.default(16_777_216).describe('Longest line that the program may write'),
  max_output_bytes: bytes.default(67_108_864).describe('Most it may write for one call'),
  grace_ms: z.int().nonnegative().default(2_000).describe('From cancel to SIGTERM, and to SIGKILL'),
  inherit_env: z
    .array(z.string().min(1))
    .default([])
    .describe('Variables of the gateway that it receives, besides PATH, HOME and the like'),
  isolation: z
    .enum(ISOLATION_LEVELS)
    .default('none')
    .describe('Bubblewrap: preferred where available; required refuses calls without it'),
  writable: z
    .array(z.string().min(1))
    .default([])
    .describe('Folders that the isolated program may write to, besides the one it runs in'),
  hidden: z
    .array(z.string().min(1))
    .default([])
    .describe('Folders that look empty to the isolated program'),
  network: z.boolean().default(true).describe('false: the isolated program has no network'),
  user: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('User that it runs as, instead of bubblewrap; the gateway must run as root'),
} as const;

export type ProgramOptions = z.infer<z.ZodObject<typeof programOptions>>;

/** How the program of an agent is started, all from its manifest. */
export interface AgentProgram {
  readonly start: ProcessOptions;
  readonly isolation: Isolation;
}

/** BAD_INPUT when the manifest names no program. `own` is for what an adapter decides itself. */
export function toProgram(
  { agent_id, endpoint }: Manifest,
  options: ProgramOptions,
  own: Pick<ProcessOptions, 'cwd' | 'limits'> = {},
): AgentProgram {
  const { command, args = [], env: extra = {} } = endpoint;
  if (command === undefined) throw failure('no_command', { agent_id });
  const { inherit_env: allow, max_line_bytes: maxLineBytes, grace_ms: graceMs } = options;
  const env = childEnvironment({ allow, extra });
  const limits = { maxLineBytes, ...own.limits };
  return {
    start: { command, agentId: agent_id, args, env, graceMs, ...own, limits },
    isolation: toIsolation(options),
  };
}

function toIsolation(options: ProgramOptions): Isolation {
  const { isolation: level, writable, hidden, network, user } = options;
  const isOfBubblewrap = writable.length > 0 || hidden.length > 0 || !network;
  if (user !== undefined && isOfBubblewrap) throw failure('bad_options/bubblewrap');
  return { level, writable, hidden, network, user };
}

/** Rejects with AGENT_OFFLINE when it cannot be started, POLICY_DENIED when it cannot be isolated. */
export async function startProgram(
  { start, isolation }: AgentProgram,
  excerpt: Excerpt,
  log: Log,
): Promise<ManagedProcess> {
  const onStderrLine = (line: string) => log.debug({ line: excerpt(line) }, 'agent stderr');
  return spawnProcess({ ...(await isolate(start, isolation, log)), onStderrLine });
}
