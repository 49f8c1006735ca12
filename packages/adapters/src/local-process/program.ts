// Which program an agent is, how it is started and what it may do, all from its manifest.

import { FabricError, type Manifest } from '@starloom/core';
import { childEnvironment, type ProcessOptions } from '@starloom/wire';
import { parseOptions } from '../upstream/options.ts';
import { localProcessOptionsSchema } from './options.ts';

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
