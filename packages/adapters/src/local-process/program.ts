// Which program an agent is, how it is started and what it may do, all from its manifest.

import type { Manifest } from '@starloom/core';
import { childEnvironment, type ProcessOptions } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import type { Isolation } from '../upstream/isolation.ts';
import { toIsolation } from '../upstream/program.ts';
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
  if (command === undefined) throw failure('no_command', { agent_id: manifest.agent_id });
  const options = parseOptions(localProcessOptionsSchema, manifest);
  const { pooled, preset, cwd, grace_ms: graceMs } = options;
  if (pooled && preset !== undefined)
    throw failure('pooled_preset', { agent_id: manifest.agent_id });
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
