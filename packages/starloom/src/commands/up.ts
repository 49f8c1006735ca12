import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LoadedConfig } from '@starloom/config';
import { type AgentRecord, FabricError } from '@starloom/core';
import { findGatewayConfig, type GatewayConfig, loadGatewayConfig } from '@starloom/gateway/config';
import { generateKey } from '@starloom/identity';
import { agentsAround, giveMemoryBackWhenIdle, isDiskFull, keepReserve } from '@starloom/wire';
import type { Command } from 'commander';
import {
  action,
  type GlobalOptions,
  readVersion,
  toPort,
  untilStopped as untilSignalled,
  withExamples,
} from '../command-line.ts';
import type { OpenedGateway } from '../open-gateway.ts';
import { peopleLog } from '../people-log.ts';
import { formatProblem, toUsageError } from '../report-error.ts';
import { clientFile, gatewayFile, makeStateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { fit, toOneLine } from '../terminal-text.ts';
import { offersOf } from '../tool-payloads.ts';

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [
    ['starloom up', 'serve ./starloom.yaml and ./agents.yaml, or sample agents'],
    ['starloom up --port 0 --json', 'for scripts: one JSON line when it serves'],
    ['starloom up --stdio', 'as the command of an MCP client'],
  ])
    .option('--stdio', 'serve one MCP client over standard input and output')
    .option('-p, --port <port>', 'port to listen on; 0 picks a free one', toPort)
    .option('--host <host>', 'address to listen on')
    .option('--samples', 'run the sample agents beside your own')
    .action(action(terminal, () => up));
}

interface UpOptions extends GlobalOptions {
  readonly stdio?: true;
  readonly port?: number;
  readonly host?: string;
  readonly samples?: true;
}

interface Plan {
  readonly loaded: LoadedConfig<GatewayConfig>;
  readonly samples: boolean;
}

/** For this machine's own commands; its key is kept over restarts, so that clients stay connected. */
const LOCAL_KEY = { key_id: 'local', principal: 'local', tier: 'local', scopes: ['*'] } as const;

export async function up(terminal: Terminal, options: UpOptions): Promise<void> {
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
  const { openGateway } = await import('../open-gateway.ts');
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
  const key = (await clientFile.read(stateFolder))?.key ?? generateKey();
  const { openGateway } = await import('../open-gateway.ts');
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
    using _ = giveMemoryBackWhenIdle();
    const stopped = untilStopped(opened);
    const url = await opened.gateway.listen();
    const write = async () => {
      await gatewayFile.write(stateFolder, toGatewayFile(plan, url));
      return await clientFile.write(stateFolder, { url, key, key_id: LOCAL_KEY.key_id });
    };
    const path = await write().catch((error: FabricError) => {
      if (!isDiskFull(error.cause)) throw error;
      const message = 'the disk is full: other commands cannot find the gateway';
      opened.observer.log.error({ error }, message);
      return undefined;
    });
    const { samples } = plan;
    const { columns } = terminal;
    const agents = opened.registry.list();
    if (json) terminal.json({ event: 'ready', url, pid: process.pid });
    else {
      const page = terminal.isWatched ? await consoleLink(opened, url) : undefined;
      terminal.tell(banner({ url, key, clientFile: path, samples, agents, columns, page }));
    }
    await stopped;
    if (!json) terminal.tell('stopping: finishing what is in flight');
  } finally {
    await opened.close();
  }
}

/** Only for a person at a terminal: a log would keep the link. The gateway serves without it, too. */
async function consoleLink({ gateway, observer }: OpenedGateway, url: string) {
  try {
    const code = await gateway.createConsoleCode(LOCAL_KEY.key_id);
    return code && (await import('./console.ts')).toConsoleLink(url, code);
  } catch (thrown) {
    observer.log.error({ error: FabricError.from(thrown) }, 'no link to the console can be made');
    return undefined;
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

interface BannerInput {
  readonly url: string;
  readonly key: string;
  /** Unset where it could not be written. */
  readonly clientFile: string | undefined;
  readonly samples: boolean;
  readonly agents: readonly AgentRecord[];
  readonly columns: number | undefined;
  /** Link to the console, good once; only for a person. */
  readonly page?: string | undefined;
}

export function banner(input: BannerInput): string {
  const { url, key, clientFile, samples, agents, columns = Number.POSITIVE_INFINITY } = input;
  const { page } = input;
  const width = Math.max(0, ...agents.map(({ manifest }) => manifest.agent_id.length));
  const rows = agents.map(({ manifest: { agent_id, description = '' }, capabilities, health }) => {
    const what = offersOf({ capabilities, description: toOneLine(description), health });
    return fit(`  ${agent_id.padEnd(width)}  ${what}`, columns);
  });
  return [
    `starloom is up at ${url}`,
    '',
    ...(page === undefined ? [] : [`  console    ${page}`]),
    `  MCP        ${url}/mcp   (WebSocket: ${url.replace(/^http/, 'ws')}/mcp/ws)`,
    `  A2A        ${url}/a2a/<agent>/   (card: ${url}/.well-known/agent-card.json)`,
    `  sessions   ${url}/rpc   (WebSocket: ${url.replace(/^http/, 'ws')}/rpc/ws)`,
    `  metrics    ${url}/metrics`,
    `  key        ${key}${clientFile === undefined ? '' : `   (also in ${clientFile})`}`,
    '',
    samples ? 'Agents (with samples):' : 'Agents:',
    ...(rows.length > 0 ? rows : ['  none yet: the first command below adds one']),
    '',
    'Try next, in another terminal:',
    ...(samples
      ? [
          '  starloom call percy reason "Why do agents need a fabric? They talk past each other." --stream',
          '  starloom call flaky reason "This one fails on purpose. Which agent answers?" --stream',
        ]
      : []),
    '  starloom agents add files -- npx -y @modelcontextprotocol/server-filesystem .',
    '  starloom agents',
    `  claude mcp add --transport http starloom ${url}/mcp --header "Authorization: Bearer ${key}"`,
    '',
    'Ctrl-C stops it.',
  ].join('\n');
}
