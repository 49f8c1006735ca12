// Which file of agents a command changes. In this order: the one that a configuration names or that
// is in this folder; the one that the gateway running on this machine reads; a new one here.

import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { LoadedConfig } from '@starloom/config';
import { FabricError } from '@starloom/core';
import { findGatewayConfig, type GatewayConfig, loadGatewayConfig } from '@starloom/gateway/config';
import { connectToGateway, type GatewayClient } from '../gateway-client.ts';
import { type GatewayFile, readGatewayFile } from '../gateway-file.ts';
import type { GlobalOptions } from '../global-options.ts';
import { stateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';

export interface AgentsPlace extends AsyncDisposable {
  /** Absolute. */
  readonly file: string;
  /** As a person here would write it. */
  readonly shown: string;
  /** Where relative paths in it begin. */
  readonly folder: string;
  readonly isNew: boolean;
  /** The gateway that runs and reads this file, if one does. */
  readonly gateway: GatewayClient | undefined;
  /** That gateway also runs the samples. */
  readonly samples: boolean;
  /** The file that a running gateway reads instead of this one. */
  readonly servedInstead: string | undefined;
}

export async function findAgentsPlace(
  terminal: Terminal,
  options: GlobalOptions,
): Promise<AgentsPlace> {
  const { env, cwd } = terminal;
  const where = { path: options.config, env, cwd };
  const loaded = await loadGatewayConfig({ ...where, resolveSecrets: false });
  const own = agentsFileOf(loaded);
  const isOwn = await isChosen(where, loaded, own);
  const running = await findRunning(terminal);
  const served = running?.known.agents_file;
  const file = isOwn || served === undefined ? own : served;
  const isServed = served === file;
  if (!isServed) await running?.client[Symbol.asyncDispose]();
  const gateway = isServed ? running?.client : undefined;
  const isNear = !relative(cwd, file).startsWith('..');
  return {
    file,
    shown: isNear ? relative(cwd, file) : file,
    folder: isOwn ? loaded.folder : dirname(file),
    isNew: !existsSync(file),
    gateway,
    samples: isServed && running?.known.samples === true,
    servedInstead: isServed ? undefined : served,
    [Symbol.asyncDispose]: async () => gateway?.[Symbol.asyncDispose](),
  };
}

function agentsFileOf({ value, folder }: LoadedConfig<GatewayConfig>): string {
  const { registry } = value;
  if (registry.kind === 'yaml') return resolve(folder, registry.path);
  throw new FabricError('BAD_INPUT', 'The agents of this gateway are not in a file', {
    details: { reason: 'no_file', kind: registry.kind, fix: 'register it in that registry' },
  });
}

/** Whether this folder or a configuration says which file it is. */
async function isChosen(
  where: Parameters<typeof findGatewayConfig>[0],
  { origins }: LoadedConfig<GatewayConfig>,
  file: string,
): Promise<boolean> {
  if (existsSync(file) || (await findGatewayConfig(where)) !== undefined) return true;
  return (origins.get('registry.path')?.kind ?? 'default') !== 'default';
}

/** The gateway of this machine and user, when it answers. */
async function findRunning(
  terminal: Terminal,
): Promise<{ known: GatewayFile; client: GatewayClient } | undefined> {
  const known = await readGatewayFile(stateFolder(terminal.env));
  if (known === undefined) return undefined;
  const client = await connectToGateway(terminal).catch(() => undefined);
  if (client?.url === known.url) return { known, client };
  await client?.[Symbol.asyncDispose]();
  return undefined;
}
