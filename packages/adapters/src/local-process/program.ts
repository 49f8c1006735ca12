// Which program an agent is, how it is started and what it may do, all from its manifest.

import { FabricError, type Manifest } from '@starloom/core';
import { childEnvironment, type ProcessOptions } from '@starloom/wire';
import { z } from 'zod';
import { parseOptions } from '../upstream/options.ts';

const bytes = z.int().positive();

export const localProcessOptionsSchema = z.strictObject({
  pooled: z.boolean().default(false).describe('One process for all calls, not one per call'),
  max_line_bytes: bytes.default(16_777_216).describe('Longest line the agent may write'),
  max_output_bytes: bytes.default(67_108_864).describe('All it may write for one call'),
  grace_ms: z.int().nonnegative().default(2_000).describe('From cancel to end, and end to kill'),
  cwd: z.string().min(1).optional().describe('Folder it runs in; default: that of the gateway'),
});

export interface Program {
  readonly pooled: boolean;
  readonly maxOutputBytes: number;
  readonly graceMs: number;
  readonly start: ProcessOptions;
}

export function parseProgram(manifest: Manifest): Program {
  const { command, args, env } = manifest.endpoint;
  if (command === undefined) throw noCommand(manifest.agent_id);
  const options = parseOptions(localProcessOptionsSchema, manifest);
  const { pooled, cwd, grace_ms: graceMs } = options;
  const maxOutputBytes = options.max_output_bytes;
  return {
    pooled,
    maxOutputBytes,
    graceMs,
    start: {
      command,
      env: childEnvironment({ extra: env ?? {} }),
      graceMs,
      limits: {
        maxLineBytes: options.max_line_bytes,
        ...(pooled ? {} : { maxOutputBytes }),
      },
      ...(args === undefined ? {} : { args }),
      ...(cwd === undefined ? {} : { cwd }),
    },
  };
}

function noCommand(agentId: string): FabricError {
  return new FabricError('BAD_INPUT', `Agent "${agentId}" names no program to run`, {
    details: { agent_id: agentId, reason: 'no_command', fix: 'set endpoint.command' },
  });
}
