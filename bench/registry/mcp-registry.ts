// The official MCP Registry server (Go) on the same Postgres: how fast it takes servers, and how long a page
// of a search takes. It has no look-up by capability, no health and no feed of changes.

import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { emptyDatabase, freePort, NETWORK_VARIABLES, runProgram } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { quantile, round } from '../statistics.ts';

export interface RivalFigures {
  readonly version: string;
  readonly servers: number;
  readonly published_per_second: number;
  readonly page_us: number;
}

const VERSION = 'v1.8.7';
const MODULE = 'github.com/modelcontextprotocol/registry/cmd/registry';
const CACHE = new URL('../../node_modules/.cache/mcp-registry/', import.meta.url).pathname;
const SERVERS = 2_000;
const AT_ONCE = 16;
const START_MS = 30_000;
const INSTALL_MS = 600_000;

export async function measureMcpRegistry(
  serverUrl: string,
  signal: AbortSignal,
): Promise<RivalFigures> {
  const program = await install();
  const database = await emptyDatabase(serverUrl);
  const port = await freePort();
  const child = await spawnProcess({
    command: program,
    args: [],
    env: childEnvironment({
      extra: {
        MCP_REGISTRY_SERVER_ADDRESS: `127.0.0.1:${port}`,
        MCP_REGISTRY_DATABASE_URL: `${database}?sslmode=disable`,
        MCP_REGISTRY_ENABLE_ANONYMOUS_AUTH: 'true',
        MCP_REGISTRY_ENABLE_REGISTRY_VALIDATION: 'false',
        MCP_REGISTRY_JWT_PRIVATE_KEY: '0b'.repeat(32),
      },
    }),
  });
  try {
    const url = `http://127.0.0.1:${port}/v0`;
    await untilReady(url, signal);
    const token = await tokenOf(url);
    const published = await publishAll(url, token, signal);
    const page = await measurePage(url);
    return {
      version: VERSION,
      servers: SERVERS,
      published_per_second: round(published, 0),
      page_us: round(page, 0),
    };
  } finally {
    await child.stop();
  }
}

/** Built once; needs Go. */
async function install(): Promise<string> {
  const program = join(CACHE, VERSION, 'registry');
  const isThere = await access(program).then(
    () => true,
    () => false,
  );
  if (isThere) return program;
  await mkdir(join(CACHE, VERSION), { recursive: true });
  const network = Object.fromEntries(
    NETWORK_VARIABLES.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const env = { ...childEnvironment({ extra: network }), GOBIN: join(CACHE, VERSION) };
  const args = ['install', `${MODULE}@${VERSION}`];
  const { code, stderr } = await runProgram({ command: 'go', args, env }, INSTALL_MS);
  if (code !== 0) throw new Error(`go install failed: ${stderr.slice(-500)}`);
  return program;
}

async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  const until = performance.now() + START_MS;
  for (;;) {
    signal.throwIfAborted();
    const isUp = await fetch(`${url}/ping`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    if (performance.now() > until) throw new Error('the MCP Registry server did not start');
    await delay(200);
  }
}

async function tokenOf(url: string): Promise<string> {
  const response = await fetch(`${url}/auth/none`, { method: 'POST' });
  const { registry_token } = (await response.json()) as { registry_token: string };
  return registry_token;
}

async function publishAll(url: string, token: string, signal: AbortSignal): Promise<number> {
  const began = performance.now();
  for (let at = 0; at < SERVERS; at += AT_ONCE) {
    signal.throwIfAborted();
    const batch = Array.from({ length: Math.min(AT_ONCE, SERVERS - at) }, (_, n) => at + n);
    await Promise.all(batch.map((index) => publish(url, token, index)));
  }
  return SERVERS / ((performance.now() - began) / 1_000);
}

async function publish(url: string, token: string, index: number): Promise<void> {
  const response = await fetch(`${url}/publish`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      name: `io.modelcontextprotocol.anonymous/team-${index % 100}-agent-${index}`,
      description: 'Does a piece of work and says how it went',
      version: '1.0.0',
      remotes: [{ type: 'streamable-http', url: `https://agents.example.com/${index}/mcp` }],
    }),
  });
  if (!response.ok) throw new Error(`publish: ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}

/** Microseconds of a page of 30 by a word of the name, the median. */
async function measurePage(url: string): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 220; n += 1) {
    const began = performance.now();
    const response = await fetch(`${url}/servers?limit=30&search=team-${n % 100}-`);
    await response.json();
    if (n >= 20) times.push((performance.now() - began) * 1_000);
  }
  return quantile(times, 0.5) ?? 0;
}
