// A gateway with an agent for each journey, a key that may do everything, one that may call `echo`
// alone, and an OpenID provider at which people sign in.

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ManifestInput } from '@starloom/core';
import { freePort, type TemporaryFolder } from '@starloom/testkit';
import { DESK, startOpenIdProvider } from '../support/openid-provider.ts';
import {
  LAUNCHER,
  type RunningGateway,
  startGatewayIn,
  worldEnvironment,
  writeWorld,
} from '../support/start-gateway.ts';
import { fillJournal } from './fill-journal.ts';

export const fixture = (name: string) =>
  fileURLToPath(new URL(`../../packages/starloom/test/fixtures/${name}`, import.meta.url));

/** Repeats the task word by word; `fail` fails, `wait` takes its time. Plain JavaScript, any Node. */
const ECHO = `
const { createInterface } = require('node:readline');
const [, , mode] = process.argv;
const say = (line) => console.log(JSON.stringify(line));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { envelope } = JSON.parse(line);
  if (!envelope) return process.exit(0);
  const { input } = envelope;
  const task = String(input.arguments?.task ?? (input.task || input.context?.task));
  const fail = mode === 'broken' || task === 'fail';
  if (fail) {
    say({ type: 'error', error: { code: 'AGENT_OFFLINE', message: 'as asked', details: {} } });
    return process.exit(0);
  }
  say({ type: 'progress', data: { percent: 40, message: 'thinking' } });
  const words = (mode === 'hostile' ? ${JSON.stringify('HOSTILE')} : task).split(' ');
  for (const word of words) say({ type: 'token', data: { text: word + ' ' } });
  const wait = Number(/wait (\\d+)/.exec(task)?.[1] ?? 0);
  setTimeout(() => {
    say({ type: 'final', data: { answer: words.join(' ') } });
    process.exit(0);
  }, wait);
});
`;

export const HOSTILE =
  '<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=2</script> ' +
  '[click](javascript:globalThis.hacked=3) \u001b[31mred\u001b[0m \u202etxt.exe <svg onload=globalThis.hacked=4>';

const taskSchema = { type: 'object', properties: { task: { type: 'string' } }, required: ['task'] };

function agents(): ManifestInput[] {
  const echo = (
    agent_id: string,
    mode: string,
    more: Partial<ManifestInput> = {},
  ): ManifestInput => ({
    agent_id,
    endpoint: { transport: 'process', command: process.execPath, args: ['./echo.cjs', mode] },
    capabilities: [{ name: 'say', streaming: true, idempotent: true, input_schema: taskSchema }],
    trust_tier: 'local',
    ...more,
  });
  const server = (agent_id: string, args: string[]): ManifestInput => ({
    agent_id,
    endpoint: { transport: 'stdio', command: process.execPath, args },
    trust_tier: 'org',
  });
  return [
    echo('echo', 'plain', { description: 'Repeats what it is told' }),
    echo('broken', 'broken', { fallbacks: ['echo'] }),
    echo('hostile', 'hostile', {
      description: HOSTILE,
      tags: ['<b>tag</b>'],
      capabilities: [{ name: 'say', title: HOSTILE, description: HOSTILE, streaming: true }],
    }),
    server('files', [fixture('changing-server.cjs')]),
    server('asker', [fixture('asking-agent.ts'), 'current']),
  ];
}

/** Answers at once, so that many calls can be made. Its capabilities are named by its callers. */
export const QUICK = 'quick';
const QUICK_CAPABILITIES = ['ping', 'after-the-storm', 'back-again'];

async function startQuickAgent() {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"answer":"pong"}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const manifest: ManifestInput = {
    agent_id: QUICK,
    endpoint: {
      transport: 'http',
      protocol: 'http',
      uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    },
    capabilities: QUICK_CAPABILITIES.map((name) => ({ name })),
    trust_tier: 'local',
  };
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { manifest, stop };
}

export const NARROW_KEY = 'narrow-key-of-the-tests-0123456789';

export interface ConsoleWorld extends AsyncDisposable {
  readonly origin: string;
  readonly folder: string;
  readonly key: string;
  /** Where people sign in. */
  readonly issuer: string;
  /** A link with a one-time code, as `starloom console` prints it. */
  link(): Promise<string>;
  stop(): Promise<void>;
  /** In the same folder, on the same port. */
  start(): Promise<void>;
  /** A request of the API of MCP with the key that may do everything. */
  call(name: string, args: object): Promise<unknown>;
  /** What `starloom` prints in the folder of the gateway. */
  command(...args: string[]): Promise<string>;
  /** Two instances of `QUICK` under another name, as agents register themselves. */
  registerTwins(agent_id: string): Promise<void>;
}

export interface OpenWorldOptions {
  /** The agents of `npm start`, for pictures. */
  readonly samples?: boolean;
  /** How many calls the journal has already; `QUICK` makes more. */
  readonly calls?: number;
}

export async function openWorld({
  samples = false,
  calls = 0,
}: OpenWorldOptions = {}): Promise<ConsoleWorld> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const quick = await startQuickAgent();
  const openid = await startOpenIdProvider('agents', `${origin}/console/`);
  const config = {
    auth: {
      psk: [
        {
          key_id: 'narrow',
          key: 'env:NARROW_KEY',
          principal: 'nora',
          tier: 'org',
          scopes: ['agent:echo'],
        },
      ],
      oauth: {
        resource: origin,
        issuers: [{ issuer: openid.issuer, scopes: { agents: ['agent:echo'] } }],
      },
    },
    console: { commands: true, ...DESK },
    // More than are there, so that new calls push none of them out.
    ...(calls > 0 && { journal: { kind: 'sqlite', calls: calls * 2 } }),
  };
  const listed = samples ? [] : calls > 0 ? [quick.manifest] : agents();
  const folder: TemporaryFolder = await writeWorld({ agents: listed, config });
  if (calls > 0) await fillJournal(join(folder.path, 'state'), calls);
  await writeFile(
    join(folder.path, 'echo.cjs'),
    ECHO.replace(JSON.stringify('HOSTILE'), JSON.stringify(HOSTILE)),
  );
  const kept = { path: folder.path, [Symbol.asyncDispose]: async () => {} };
  const open = () => startGatewayIn(kept, { NARROW_KEY }, port, samples ? ['--samples'] : []);
  let gateway: RunningGateway = await open();
  const world: ConsoleWorld = {
    origin,
    issuer: openid.issuer,
    folder: folder.path,
    key: gateway.key,
    async link() {
      const response = await fetch(`${origin}/console/api/session`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ link: true }),
      });
      const { code } = (await response.json()) as { code: string };
      return `${origin}/console/#code=${code}`;
    },
    async stop() {
      await gateway.stop();
    },
    async start() {
      gateway = await open();
    },
    async call(name, args) {
      const response = await fetch(`${origin}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${gateway.key}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': name,
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: {
            name,
            arguments: args,
            _meta: {
              'io.modelcontextprotocol/protocolVersion': '2026-07-28',
              'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
              'io.modelcontextprotocol/clientCapabilities': {},
            },
          },
        }),
      });
      return await response.json();
    },
    async command(...args) {
      const options = { cwd: folder.path, env: worldEnvironment(folder.path) };
      const run = promisify(execFile);
      return (await run(process.execPath, [LAUNCHER, ...args], options)).stdout.trim();
    },
    async registerTwins(agent_id) {
      for (const node_id of ['north', 'south']) {
        const manifest = { ...quick.manifest, agent_id, node_id };
        await world.call('fabric.agent.register', { manifest, lease_ms: 600_000 });
      }
    },
    async [Symbol.asyncDispose]() {
      await gateway.stop();
      quick.stop();
      await openid[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
  return world;
}
