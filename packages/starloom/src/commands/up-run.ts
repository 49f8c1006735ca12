import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LoadedConfig } from '@starloom/config';
import type { FabricError } from '@starloom/core';
import { findGatewayConfig, type GatewayConfig, loadGatewayConfig } from '@starloom/gateway/config';
import { generateKey } from '@starloom/identity';
import { agentsAround, isDiskFull, keepReserve } from '@starloom/wire';
import { readClientFile, writeClientFile } from '../client-file.ts';
import { writeGatewayFile } from '../gateway-file.ts';
import type { GlobalOptions } from '../global-options.ts';
import { type OpenedGateway, openGateway } from '../open-gateway.ts';
import { peopleLog } from '../people-log.ts';
import { formatProblem, toUsageError } from '../report-error.ts';
import { untilStopped as untilSignalled } from '../signals.ts';
import { makeStateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { readVersion } from '../version.ts';
import type { UpOptions } from './up.ts';
import { banner } from './up-banner.ts';

type Options = GlobalOptions & UpOptions;

interface Plan {
  readonly loaded: LoadedConfig<GatewayConfig>;
  readonly samples: boolean;
}

/** For this machine's own commands; its key is kept over restarts, so that clients stay connected. */
const LOCAL_KEY = { key_id: 'local', principal: 'local', tier: 'local', scopes: ['*'] } as const;

export async function up(terminal: Terminal, options: Options): Promise<void> {
  const { env, cwd } = terminal;
  const where = { path: options.config, env, cwd };
  const loaded = await loadGatewayConfig({ ...where, flags: options });
  for (const warning of loaded.warnings) terminal.tell(`warning:\n${formatProblem(warning)}`);
  const samples = options.samples === true || (await runsSamples(where, loaded));
  if (samples && loaded.value.registry.kind !== 'yaml') {
    throw toUsageError('--samples needs agents in a file', 'set registry.kind to yaml');
  }
  if (options.stdio) await serveStdio(terminal, { loaded, samples });
  else await serveHttp(terminal, { loaded, samples }, options.json === true);
}

/** Without a file and without agents of its own, a gateway shows what it can with samples. */
async function runsSamples(
  where: Parameters<typeof findGatewayConfig>[0],
  { origins, value: { registry } }: LoadedConfig<GatewayConfig>,
): Promise<boolean> {
  if ((await findGatewayConfig(where)) !== undefined) return false;
  if (registry.kind === 'yaml' && existsSync(resolve(where.cwd, registry.path))) return false;
  return [...origins].every(([key, { kind }]) => !key.startsWith('registry') || kind === 'default');
}

async function serveStdio({ env }: Terminal, plan: Plan): Promise<void> {
  const stateFolder = await makeStateFolder(env);
  const opened = await openGateway({ ...plan, env, version: readVersion(), stateFolder });
  try {
    await Promise.race([
      opened.gateway.serveStdio(process.stdin, process.stdout, agentsAround(env) + 1),
      untilStopped(opened),
    ]);
  } finally {
    await opened.close();
  }
}

async function serveHttp(terminal: Terminal, plan: Plan, json: boolean): Promise<void> {
  const { env } = terminal;
  const stateFolder = await makeStateFolder(env);
  await keepReserve(stateFolder);
  const key = (await readClientFile(stateFolder))?.key ?? generateKey();
  const opened = await openGateway({
    ...plan,
    env,
    version: readVersion(),
    stateFolder,
    planeFolder: stateFolder,
    localKey: { ...LOCAL_KEY, key },
    ...(terminal.isWatched && !json && { logDestination: peopleLog(terminal) }),
  });
  try {
    const stopped = untilStopped(opened);
    const url = await opened.gateway.listen();
    const write = async () => {
      await writeGatewayFile(stateFolder, toGatewayFile(plan, url));
      return await writeClientFile(stateFolder, { url, key, key_id: LOCAL_KEY.key_id });
    };
    const clientFile = await write().catch((error: FabricError) => {
      if (!isDiskFull(error.cause)) throw error;
      opened.observer.log.error(
        { error },
        'the disk is full: other commands cannot find the gateway',
      );
      return undefined;
    });
    const { samples } = plan;
    const { columns } = terminal;
    const agents = opened.registry.list();
    if (json) terminal.print(JSON.stringify({ event: 'ready', url, pid: process.pid }));
    else terminal.tell(banner({ url, key, clientFile, samples, agents, columns }));
    await stopped;
    if (!json) terminal.tell('stopping: finishing what is in flight');
  } finally {
    await opened.close();
  }
}

function toGatewayFile({ loaded: { value, folder }, samples }: Plan, url: string) {
  const { registry } = value;
  return {
    url,
    pid: process.pid,
    ...(registry.kind === 'yaml' && { agents_file: resolve(folder, registry.path) }),
    samples,
  };
}

/** SIGHUP reads the agents again. */
function untilStopped({ reload, observer }: OpenedGateway): Promise<void> {
  process.on('SIGHUP', () => {
    reload?.().catch((error: unknown) => observer.log.error({ error }, 'reload failed'));
  });
  return untilSignalled();
}
