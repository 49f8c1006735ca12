// Three gateways behind nginx, two nodes with the same agent, Postgres and Redis: real processes on
// this machine, as deploy/ runs them.

import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Engine,
  emptyDatabase,
  freePort,
  openEngine,
  requireProgram,
  temporaryFolder,
} from '@starloom/testkit';
import { Part } from './part.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LAUNCHER = join(ROOT, 'packages/starloom/bin/starloom.js');
const AGENT = fileURLToPath(new URL('./agent.mjs', import.meta.url));
const secretOf = (name: string) => createHash('sha256').update(name).digest('base64url');

export const KEY = secretOf('operator');
export const AGENT_ID = 'worker';

export interface WorldOptions {
  readonly gateways: number;
  readonly nodes: number;
  /** The launcher of another version, which the last gateway runs. */
  readonly previous?: string | undefined;
}

export interface World extends AsyncDisposable {
  /** Of the balancer. */
  readonly url: string;
  readonly gateways: readonly Gateway[];
  readonly nodes: readonly Part[];
  readonly postgres: Engine;
  readonly redis: Engine;
  /** What the agents did, in order. */
  effects(): Promise<readonly string[]>;
}

export interface Gateway {
  readonly url: string;
  readonly part: Part;
}

export async function openWorld(options: WorldOptions): Promise<World> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const [postgres, redis] = await Promise.all([openEngine('postgres'), openEngine('redis')]);
  opened.use(postgres);
  opened.use(redis);
  const effects = join(folder.path, 'effects');
  await writeFile(effects, '');
  const config = join(folder.path, 'starloom.yaml');
  await writeFile(config, toConfig());
  const env = {
    DATABASE_URL: await emptyDatabase(postgres.url),
    REDIS_URL: redis.url,
    REALM_KEY: secretOf('realm'),
    OPERATOR_KEY: KEY,
    NODE_KEY: secretOf('node'),
  };
  const gateways: Gateway[] = [];
  for (let index = 0; index < options.gateways; index += 1) {
    const isLast = index === options.gateways - 1;
    const launcher = (isLast && options.previous) || LAUNCHER;
    const gateway = await startGateway({ index, launcher, config, folder: folder.path, env });
    opened.use(gateway.part);
    gateways.push(gateway);
  }
  const agents = join(folder.path, 'agents.yaml');
  await writeFile(agents, JSON.stringify([toManifest(effects)]));
  const nodes: Part[] = [];
  for (let index = 0; index < options.nodes; index += 1) {
    const urls = gateways.map(({ url }) => url);
    nodes.push(opened.use(await startNode(index, urls, agents, folder.path, env.NODE_KEY)));
  }
  const balancer = await startBalancer(gateways, folder.path);
  opened.use(balancer.part);
  const stack = opened.move();
  return {
    url: balancer.url,
    gateways,
    nodes,
    postgres,
    redis,
    effects: async () => (await readFile(effects, 'utf8')).split('\n').filter(Boolean),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

interface GatewayPlan {
  readonly index: number;
  readonly launcher: string;
  readonly config: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

async function startGateway({ index, launcher, config, folder, env }: GatewayPlan) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const part = await Part.start({
    name: `gateway-${index + 1}`,
    command: process.execPath,
    args: [launcher, 'up', '--json', '--port', String(port), '--config', config],
    env: { ...env, STARLOOM_HOME: join(folder, `gateway-${index + 1}`), XDG_CACHE_HOME: folder },
    isReady: () => isReady(url),
  });
  return { url, part };
}

function startNode(
  index: number,
  gateways: readonly string[],
  agents: string,
  folder: string,
  key: string,
): Promise<Part> {
  const name = `node-${index + 1}`;
  return Part.start({
    name,
    command: process.execPath,
    args: [
      ...[LAUNCHER, 'node', '--json', '--id', name, '--key', 'env:NODE_KEY', '--agents', agents],
      ...gateways.flatMap((url) => ['--gateway', url]),
    ],
    env: { NODE_KEY: key, STARLOOM_HOME: join(folder, name), XDG_CACHE_HOME: folder },
    isReady: async ({ lines }) => {
      const connected = lines.flatMap((line) => {
        const { event, gateway } = JSON.parse(line);
        return event === 'connected' ? [gateway] : [];
      });
      return new Set(connected).size === gateways.length;
    },
  });
}

async function startBalancer(gateways: readonly Gateway[], folder: string) {
  const nginx = await requireProgram({ names: ['nginx'], package: 'nginx' });
  if (!nginx.found) throw new Error(`nginx is missing: ${nginx.howToInstall}`);
  const port = await freePort();
  const path = join(folder, 'nginx.conf');
  await writeFile(path, await toBalancer(gateways, port, folder));
  const url = `http://127.0.0.1:${port}`;
  const part = await Part.start({
    name: 'balancer',
    command: nginx.path,
    args: ['-p', folder, '-c', path, '-g', 'daemon off; master_process off;'],
    isReady: () => isReady(url),
  });
  return { url, part };
}

async function isReady(url: string): Promise<boolean> {
  const { status } = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
  return status === 200;
}

/** The file that deploy/ has, with the addresses of this machine. */
async function toBalancer(gateways: readonly Gateway[], port: number, folder: string) {
  const deployed = await readFile(join(ROOT, 'deploy/config/nginx.conf'), 'utf8');
  const servers = gateways.map(
    ({ url }) => `    server ${new URL(url).host} max_fails=1 fail_timeout=2s;\n`,
  );
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `  ${kind}_temp_path ${folder}/${kind};\n`,
  );
  return deployed
    .replace('worker_processes auto;', `pid ${folder}/nginx.pid;\nerror_log stderr warn;`)
    .replace('http {\n', `http {\n  access_log off;\n${temporary.join('')}`)
    .replace(/( {4}server gateway-\d:7420[^\n]*\n)+/, servers.join(''))
    .replace('listen 7420;', `listen 127.0.0.1:${port};`);
}

/** That of deploy/ but for the address; heartbeats come fast, so that the proof need not wait. */
function toConfig(): string {
  return JSON.stringify({
    listen: { host: '127.0.0.1' },
    realm: { key: 'env:REALM_KEY' },
    registry: { kind: 'postgres', url: 'env:DATABASE_URL' },
    coordination: { kind: 'redis', url: 'env:REDIS_URL' },
    jobs: { kind: 'postgres', url: 'env:DATABASE_URL' },
    auth: {
      psk: [
        { key_id: 'operator', key: 'env:OPERATOR_KEY', principal: 'operator', tier: 'org' },
        {
          key_id: 'node',
          key: 'env:NODE_KEY',
          principal: 'node',
          tier: 'org',
          scopes: ['register:*'],
        },
      ],
    },
  });
}

function toManifest(effects: string): object {
  const schema = {
    type: 'object',
    properties: { id: { type: 'string' }, ms: { type: 'integer' } },
    required: ['id'],
  };
  return {
    agent_id: AGENT_ID,
    version: '1.0.0',
    endpoint: { transport: 'process', command: process.execPath, args: [AGENT, effects] },
    capabilities: [
      { name: 'read', description: 'May run twice', idempotent: true, input_schema: schema },
      { name: 'act', description: 'Must not run twice', idempotent: false, input_schema: schema },
    ],
    trust_tier: 'org',
  };
}
