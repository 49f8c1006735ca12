import { join } from 'node:path';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { LAUNCHER, type Run, runStarloom, scratch } from './run-starloom.ts';

/** Echoes the task word by word; `fail` fails, `slow` and `slower` take their time. Plain JavaScript, any Node. */
export const ECHO_AGENT = `
const { createInterface } = require('node:readline');
const say = (line) => console.log(JSON.stringify(line));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { envelope } = JSON.parse(line);
  if (!envelope) return process.exit(0);
  const { task } = envelope.input;
  if (task === 'fail') {
    say({ type: 'error', error: { code: 'UPSTREAM_ERROR', message: 'as asked', details: {} } });
    process.exit(0);
  }
  for (const word of task.split(' ')) say({ type: 'token', data: { text: word + ' ' } });
  const answer = () => {
    say({ type: 'final', data: { answer: task, data: { depth: envelope.hop.depth } } });
    process.exit(0);
  };
  const waitMs = { slow: 1500, slower: 6000 }[task];
  if (waitMs) setTimeout(answer, waitMs); else answer();
});
`;

export const AGENTS = `- agent_id: echo
  description: Says what it is told
  endpoint: { transport: process, command: node, args: [./echo.cjs] }
  capabilities: [{ name: say, streaming: true }]
  trust_tier: local
`;

export interface RunningGateway extends AsyncDisposable {
  readonly url: string;
  readonly folder: string;
  readonly home: string;
  readonly pid: number;
  /** Another command against it. */
  run(...args: string[]): Promise<Run>;
  stop(): Promise<{ code: number | null; stderr: string }>;
  /** Stops it, and starts another one in the same folder. */
  restart(): Promise<RunningGateway>;
}

/** `starloom up` as a user runs it, in a folder of its own; without files that are `undefined`. */
export async function startGateway(
  files: Record<string, string | undefined> = {},
  args: readonly string[] = [],
): Promise<RunningGateway> {
  const all = { 'echo.cjs': ECHO_AGENT, 'agents.yaml': AGENTS, ...files };
  const given = Object.entries(all).filter((entry): entry is [string, string] => !!entry[1]);
  return await launch(await scratch(Object.fromEntries(given)), args);
}

async function launch(
  place: AsyncDisposable & { readonly folder: string },
  args: readonly string[],
): Promise<RunningGateway> {
  const { folder } = place;
  const home = join(folder, 'home');
  const child = await spawnProcess({
    command: process.execPath,
    args: [LAUNCHER, 'up', '--json', '--port', '0', ...args],
    cwd: folder,
    env: childEnvironment({ extra: { STARLOOM_HOME: home } }),
  });
  const lines = child.lines()[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done) {
    const stderr = child.stderrTail();
    await child.stop();
    throw new Error(stderr);
  }
  const ready = JSON.parse(first.value) as { event: string; url: string; pid: number };
  let stopped: Promise<{ code: number | null; stderr: string }> | undefined;
  const stop = async () => {
    child.signal('SIGTERM');
    const { code } = await child.exited;
    return { code, stderr: child.stderrTail() };
  };
  return {
    url: ready.url,
    folder,
    home,
    pid: ready.pid,
    run: (...words) => runStarloom(words, { cwd: folder, env: { STARLOOM_HOME: home } }),
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
    restart: async () => {
      stopped ??= stop();
      await stopped;
      return await launch({ folder, [Symbol.asyncDispose]: async () => {} }, args);
    },
    [Symbol.asyncDispose]: async () => {
      await child.stop();
      await place[Symbol.asyncDispose]();
    },
  };
}

const NODE_KEY = 'kR3vTq8sLx2mWn5bYc7dZf9gHj1pQa4e';

/** Of a gateway that lets nodes in with this key. */
export const NODE_FILES = {
  'node.key': NODE_KEY,
  'starloom.yaml': `auth:
  psk: [{ key_id: n1, key: "file:./node.key", principal: n1, tier: org, scopes: ["register:*"] }]
`,
};

/** `starloom node` with the echo agent, connected to all of these gateways. */
export async function startNode(gateways: readonly string[], id = 'n1') {
  const agents = AGENTS.replace('trust_tier: local', 'trust_tier: org');
  const place = await scratch({ 'echo.cjs': ECHO_AGENT, 'agents.yaml': agents });
  const named = gateways.flatMap((url) => ['--gateway', url]);
  const child = await spawnProcess({
    command: process.execPath,
    args: [LAUNCHER, 'node', ...named, '--key', 'env:NODE_KEY', '--id', id, '--json'],
    cwd: place.folder,
    env: childEnvironment({ extra: { STARLOOM_HOME: place.folder, NODE_KEY } }),
  });
  const lines = child.lines()[Symbol.asyncIterator]();
  for (const _ of gateways) {
    const { value } = await lines.next();
    const connected = JSON.parse(value ?? child.stderrTail());
    if (connected.event !== 'connected' || connected.agents[0] !== 'echo')
      throw new Error(child.stderrTail());
  }
  const close = async () => {
    await child.stop();
    await place[Symbol.asyncDispose]();
  };
  return Object.assign(child, { [Symbol.asyncDispose]: close });
}
