// The real gateway, as anybody runs it: its own command, keys, argument schemas, audit log, log, metrics
// and trace on; and as operators of many callers do, with rules and limits.

import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childEnvironment } from '@starloom/wire';
import { AGENT_ID, TOOL_OF_KIND } from '../mcp-call.ts';
import type { Program } from '../own-program.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LAUNCHER = join(ROOT, 'packages/starloom/bin/starloom.js');
const KEY = 'bench-2f9c61d07ab34e58';

export const GATEWAY_HEADERS = { authorization: `Bearer ${KEY}` };
export const GATEWAY_ENV = { BENCH_KEY: KEY };

/** Builds what `npm pack` ships of the command; its path. */
export async function buildCommand(): Promise<string> {
  const bin = join(ROOT, 'node_modules/.bin');
  const run = promisify(execFile);
  await run(join(bin, 'tsc'), ['-b', 'packages/starloom'], { cwd: ROOT });
  await run(process.execPath, [join(ROOT, 'scripts/bundle-command.ts')], { cwd: ROOT });
  return join(ROOT, 'packages/starloom/bundle/main.js');
}

/** With one MCP agent over HTTP behind it. */
export function starloomProgram(
  folder: string,
  upstreamUrl: string,
  command?: string,
): Promise<Program> {
  return gatewayProgram(folder, [benchAgent(upstreamUrl)], command);
}

/** Writes its configuration into `folder`; all its state stays there too. */
export async function gatewayProgram(
  folder: string,
  agents: readonly object[],
  command = LAUNCHER,
): Promise<Program> {
  const config = await writeGatewayConfig(folder, agents);
  return {
    command: process.execPath,
    args: [command, 'up', '--json', '--port', '0', '--config', config],
    env: childEnvironment({
      extra: {
        STARLOOM_HOME: folder,
        XDG_CACHE_HOME: join(folder, 'cache'),
        NODE_COMPILE_CACHE: join(folder, 'cache'),
        ...GATEWAY_ENV,
      },
    }),
  };
}

/** The path of the configuration that it writes. */
export async function writeGatewayConfig(
  folder: string,
  agents: readonly object[],
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const config = join(folder, 'starloom.yaml');
  await writeFile(config, toYaml(CONFIG));
  await writeFile(join(folder, 'agents.yaml'), toYaml(agents));
  return config;
}

/** Counted with every call, and never met. */
const HIGH_RATE = { calls: 1_000_000, seconds: 1 };

const CONFIG = {
  registry: { kind: 'yaml', path: './agents.yaml' },
  auth: { psk: [{ key_id: 'bench', key: 'env:BENCH_KEY', principal: 'bench', tier: 'org' }] },
  telemetry: { log_level: 'info' },
  // The clients of the benchmarks send no heartbeats.
  coordination: { kind: 'embedded', heartbeat_interval_ms: 3_600_000 },
  policy: {
    rules: [
      { name: 'finance-is-closed', when: '"finance" in agent.tags', effect: 'deny' },
      {
        name: 'writes-at-the-root',
        when: 'capability.glob("write_*") && depth > 1',
        effect: 'deny',
      },
      { name: 'own-agents', when: 'principal.tier == "org" && depth < 4', effect: 'allow' },
    ],
  },
  limits: { rate_per_principal: HIGH_RATE, rate_per_agent: HIGH_RATE, cost_per_principal: 1e12 },
};

export function benchAgent(uri: string): object {
  const input_schema = {
    type: 'object',
    properties: { text: { type: 'string', maxLength: 1000 } },
    required: ['text'],
    additionalProperties: false,
  };
  return {
    agent_id: AGENT_ID,
    endpoint: { transport: 'http', uri },
    capabilities: [
      { name: TOOL_OF_KIND.unary, input_schema, cost: 1 },
      { name: TOOL_OF_KIND.stream, streaming: true, input_schema },
    ],
    trust_tier: 'org',
  };
}

/** JSON is YAML. */
function toYaml(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
