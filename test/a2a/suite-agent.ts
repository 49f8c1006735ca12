// `starloom agent run --a2a` with the model of the A2A suites, in a process of its own.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const LAUNCHER = here('../../packages/starloom/bin/starloom.js');

const AGENT = {
  name: 'suite',
  version: '1.0.0',
  description: 'Does what the id of the message says',
  provider: { kind: 'plugin', name: 'suite' },
  plugins: [{ name: here('suite-plugin.ts') }],
  expose: { tools: ['ask'] },
};
/** The suite reads a plain card, and its webhooks are on this machine. */
const TOML = '[a2a]\nversions = ["1.0"]\nwebhook_hosts = ["localhost", "127.0.0.1"]\n';

export async function startSuiteAgent() {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder()).path;
  await writeFile(join(folder, 'agent.json'), JSON.stringify(AGENT));
  await writeFile(join(folder, 'agent.toml'), TOML);
  const child = stack.use(
    await spawnProcess({
      command: process.execPath,
      args: [LAUNCHER, 'agent', 'run', '--a2a', '--anonymous', '--port', '0', '--json'],
      cwd: folder,
      env: childEnvironment({ extra: { STARLOOM_HOME: join(folder, 'home') } }),
    }),
  );
  const { value } = await child.lines()[Symbol.asyncIterator]().next();
  const { url } = JSON.parse(value ?? `{"error": ${JSON.stringify(child.stderrTail())}}`);
  if (typeof url !== 'string') throw new Error(`The agent did not start: ${value}`);
  const running = stack.move();
  return { url, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
