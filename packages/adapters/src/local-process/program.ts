// Which program an agent is, how it is started and what it may do, all from its manifest.

import { FabricError, type Manifest } from '@starloom/core';
import { childEnvironment, type ProcessOptions } from '@starloom/wire';
import type { Isolation } from '../upstream/isolation.ts';
import { parseOptions } from '../upstream/options.ts';
import { toIsolation } from '../upstream/program-options.ts';
import { localProcessOptionsSchema } from './options.ts';
import type { PresetName } from './presets.ts';

export interface Program {
  readonly pooled: boolean;
  readonly preset: PresetName | undefined;
  readonly isolation: Isolation;
  readonly maxOutputBytes: number;
  readonly graceMs: number;
  readonly start: ProcessOptions;
}

export function parseProgram(manifest: Manifest): Program {
  const { command, args, env } = manifest.endpoint;
  if (command === undefined) throw noCommand(manifest.agent_id);
  const options = parseOptions(localProcessOptionsSchema, manifest);
  const { pooled, preset, cwd, grace_ms: graceMs } = options;
  if (pooled && preset !== undefined) throw pooledPreset(manifest.agent_id);
  const maxOutputBytes = options.max_output_bytes;
  return {
    pooled,
    preset,
    isolation: toIsolation(options),
    maxOutputBytes,
    graceMs,
    start: {
      command,
      agentId: manifest.agent_id,
      env: childEnvironment({ allow: options.inherit_env, extra: env ?? {} }),
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

function pooledPreset(agentId: string): FabricError {
  return new FabricError('BAD_INPUT', `Agent "${agentId}" cannot be pooled`, {
    details: {
      agent_id: agentId,
      reason: 'pooled_preset',
      fix: 'leave "pooled" out: each call of a preset is a process of its own',
    },
  });
}
