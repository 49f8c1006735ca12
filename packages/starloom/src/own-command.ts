// `starloom` as the command of an agent is this very program: another one on the PATH may be older,
// or there may be none. What it runs keeps its state where this one does.

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Manifest } from '@starloom/core';
import { stateFolder } from './state-folder.ts';

const LAUNCHER = fileURLToPath(new URL('../bin/starloom.js', import.meta.url));

export const OWN_COMMAND = 'starloom';

interface OwnCommandOptions {
  /** Where the path of `agent run <path>` begins. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The manifest as it is, unless its command is ours. */
export function withOwnCommand(manifest: Manifest, { folder, env }: OwnCommandOptions): Manifest {
  const { endpoint } = manifest;
  if (endpoint.command !== OWN_COMMAND) return manifest;
  const args = anchorAgent(endpoint.args ?? [], folder);
  return {
    ...manifest,
    endpoint: {
      ...endpoint,
      command: process.execPath,
      args: [LAUNCHER, ...args],
      env: { STARLOOM_HOME: stateFolder(env), ...endpoint.env },
    },
  };
}

function anchorAgent(args: readonly string[], folder: string): readonly string[] {
  const [noun, verb, path, ...rest] = args;
  const isAgentRun = noun === 'agent' && verb === 'run' && path !== undefined;
  return isAgentRun && !path.startsWith('-') ? [noun, verb, resolve(folder, path), ...rest] : args;
}
