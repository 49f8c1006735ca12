// How an agent is started and what it may do, all from its manifest.

import { resolve } from 'node:path';
import type { Manifest } from '@starloom/core';
import { childEnvironment, type ProcessOptions } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import type { Isolation } from '../upstream/isolation.ts';
import { toIsolation } from '../upstream/program.ts';
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
  const { agent_id } = manifest;
  const { command, args, env } = manifest.endpoint;
  const options = parseOptions(agentClientProtocolOptionsSchema, manifest);
  if (command === undefined) throw failure('bad_options/no_program', { agent_id });
  if (options.terminal && options.root === undefined) {
    throw failure('bad_options/no_root', { agent_id });
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
