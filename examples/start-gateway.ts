// Starts a real gateway with its sample agents for an example: on a free port, in a folder of its own.

import { readFile } from 'node:fs/promises';
import { temporaryFolder } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';

export interface RunningGateway extends AsyncDisposable {
  readonly url: string;
  readonly key: string;
}

export async function startGateway(): Promise<RunningGateway> {
  const root = new URL('..', import.meta.url).pathname;
  const home = await temporaryFolder();
  const child = await spawnProcess({
    command: process.execPath,
    args: [`${root}packages/starloom/bin/starloom.js`, 'up', '--json', '--port', '0'],
    cwd: root,
    env: childEnvironment({ extra: { STARLOOM_HOME: home.path } }),
  });
  const stop = async () => {
    await child.stop();
    await home[Symbol.asyncDispose]();
  };
  for await (const line of child.lines()) {
    const { url } = JSON.parse(line) as { url: string };
    const { key } = JSON.parse(await readFile(`${home.path}/client.json`, 'utf8'));
    return { url, key, [Symbol.asyncDispose]: stop };
  }
  await stop();
  throw new Error(`the gateway did not start: ${child.stderrTail()}`);
}
