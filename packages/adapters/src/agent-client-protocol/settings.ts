// How an agent is started and what it may do, all from its manifest.

import { resolve } from 'node:path';
import { FabricError, type Manifest } from '@starloom/core';
import { childEnvironment, type ProcessOptions } from '@starloom/wire';
import type { Isolation } from '../upstream/isolation.ts';
import { parseOptions } from '../upstream/options.ts';
import { toIsolation } from '../upstream/program-options.ts';
import { type AgentClientProtocolOptions, agentClientProtocolOptionsSchema } from './options.ts';

export interface Settings {
  readonly options: AgentClientProtocolOptions;
  readonly start: ProcessOptions;
  /** Of the sessions: absolute, as the protocol wants it. */
  readonly cwd: string;
  readonly root: string | undefined;
  readonly isolation: Isolation;
}

export function parseSettings(manifest: Manifest): Settings {
  const { command, args, env } = manifest.endpoint;
  const options = parseOptions(agentClientProtocolOptionsSchema, manifest);
  if (command === undefined) throw wrong(manifest, 'names no program', 'set endpoint.command');
  if (options.terminal && options.root === undefined) {
    throw wrong(manifest, 'has a terminal and no root', 'set options.root');
  }
  const root = options.root === undefined ? undefined : resolve(options.root);
  const cwd = resolve(options.cwd ?? root ?? '.');
  return {
    options,
    cwd,
    root,
    isolation: toIsolation(options),
    start: {
      command,
      agentId: manifest.agent_id,
      args: args ?? [],
      cwd,
      env: childEnvironment({ allow: options.inherit_env, extra: env ?? {} }),
      graceMs: options.grace_ms,
      limits: { maxLineBytes: options.max_line_bytes },
    },
  };
}

function wrong({ agent_id }: Manifest, what: string, fix: string): FabricError {
  return new FabricError('BAD_INPUT', `Agent "${agent_id}" ${what}`, {
    details: { agent_id, reason: 'bad_options', fix },
  });
}
