// One agent of each kind. Those that are reached over HTTP are started here; the gateway starts the others.

import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { type RunningProgram, startProgram } from '../start-program.ts';

type Server = RunningProgram<{ readonly url: string }>;

/** Of agents whose protocol does not tell what they offer. */
const GREET = { capabilities: [{ name: 'greet', streaming: true }] };

/** Writes `agents.yaml` into the folder. */
export async function openZoo(folder: string): Promise<AsyncDisposable> {
  await using scope = new AsyncDisposableStack();
  const token = randomBytes(16).toString('hex');
  const tokenFile = `${folder}/agent-zero-token`;
  await writeFile(tokenFile, token, { mode: 0o600 });
  // Each is in the scope before the next one starts, so that none outlives a failed start.
  const servers = [
    await start('mcp-http'),
    await start('a2a'),
    await start('agent-communication-protocol'),
    await start('agent-zero', { AGENT_ZERO_TOKEN: token }),
    await start('http'),
  ];
  const [mcp, a2a, communication, zero, http] = await Promise.all(servers.map(urlOf));
  const manifests = [
    // The gateway discovers what these four offer.
    manifest('mcp-http', { transport: 'http', uri: `${mcp}/mcp` }),
    manifest('mcp-stdio', { transport: 'stdio', ...program('mcp-stdio') }),
    manifest('a2a', { transport: 'http', protocol: 'a2a', uri: a2a }),
    manifest('agent-communication-protocol', {
      transport: 'http',
      protocol: 'agent-communication-protocol',
      uri: communication,
    }),
    manifest(
      'agent-client-protocol',
      {
        transport: 'stdio',
        protocol: 'agent-client-protocol',
        ...program('agent-client-protocol'),
      },
      GREET,
    ),
    manifest(
      'agent-zero',
      {
        transport: 'http',
        protocol: 'agent-zero',
        uri: zero,
        headers: { 'X-API-KEY': `file:${tokenFile}` },
        options: { lane: 'http' },
      },
      GREET,
    ),
    manifest('local-process', { transport: 'process', ...program('local-process') }, GREET),
    manifest('http', { transport: 'http', protocol: 'http', uri: http }, GREET),
  ];
  await writeFile(`${folder}/agents.yaml`, JSON.stringify(manifests));
  return scope.move();

  async function start(name: string, env: Record<string, string> = {}): Promise<Server> {
    return scope.use(await startProgram({ args: [fileOf(name)], env }));
  }
}

async function urlOf(server: Server): Promise<string> {
  const { url } = await server.line(() => true);
  return url;
}

/** No other agent may answer in its place: each shall show that it works. */
function manifest(agent_id: string, endpoint: object, more: object = {}) {
  return { agent_id, endpoint, trust_tier: 'org', fallback: 'none', ...more };
}

function program(name: string) {
  return { command: process.execPath, args: [...process.execArgv, fileOf(name)] };
}

function fileOf(name: string): string {
  return `${import.meta.dirname}/agents/${name}.ts`;
}
