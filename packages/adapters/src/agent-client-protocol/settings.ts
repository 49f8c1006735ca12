// How an agent is started and what it may do, all from its manifest.

import { resolve } from 'node:path';
import type { Manifest } from '@starloom/core';
import { failure } from '../reasons.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import { type AgentProgram, toProgram } from '../upstream/program.ts';
import { type AgentClientProtocolOptions, agentClientProtocolOptionsSchema } from './options.ts';

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
