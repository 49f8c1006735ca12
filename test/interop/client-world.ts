// A gateway in front of server-everything and server-filesystem, for one client: over HTTP, or as
// the child process that the client starts.

import { join } from 'node:path';
import type { ManifestInput } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import {
  LAUNCHER,
  startGateway,
  worldEnvironment,
  writeAgents,
  writeWorld,
} from '../support/start-gateway.ts';
import type { Target } from './clients/line-protocol.ts';
import { everythingAgent, filesystemAgent, memoryAgent } from './real-agents.ts';
import { recorded } from './recorded.ts';

export type Transport = 'http' | 'stdio';

export interface ClientWorld extends AsyncDisposable {
  readonly target: Target;
  /** Of `files`. */
  readonly root: string;
  /** What `everything` received. */
  readonly record: string;
  /** Adds the agent `extra`, or removes it. */
  setExtra(present: boolean): Promise<void>;
}

export async function openClientWorld(transport: Transport): Promise<ClientWorld> {
  await using stack = new AsyncDisposableStack();
  const { path: files } = stack.use(await temporaryFolder());
  const record = join(files, 'everything.jsonl');
  const agents = [recorded(everythingAgent('everything'), record), filesystemAgent('files', files)];
  const world = { agents, config: { telemetry: { log_level: 'warn' } } };
  const { folder, target } = stack.use(await openTarget[transport](world));
  const extra = memoryAgent('extra', join(files, 'memory.jsonl'));
  const owned = stack.move();
  return {
    target,
    root: files,
    record,
    setExtra: (present) => writeAgents(folder, present ? [...agents, extra] : agents),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface World {
  readonly agents: readonly ManifestInput[];
  readonly config: Record<string, unknown>;
}

/** A gateway with these agents, reached in this way. */
export const openTarget = {
  http: async (world: World) => {
    const gateway = await startGateway(world);
    const { url, key, folder } = gateway;
    const target: Target = { url, key };
    return { folder, target, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
  },
  stdio: async (world: World) => {
    const folder = await writeWorld(world);
    const target: Target = {
      command: process.execPath,
      args: [LAUNCHER, 'up', '--stdio'],
      env: worldEnvironment(folder.path),
      cwd: folder.path,
    };
    return {
      folder: folder.path,
      target,
      [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
    };
  },
};
