// Starts a real gateway for an example: on a free port, with a state folder of its own, in the folder of
// the example. What the user has in the folder of the checkout is not read.

import { readFile } from 'node:fs/promises';
import { temporaryFolder } from '@starloom/testkit';
import { STARLOOM, startProgram } from './start-program.ts';

export interface RunningGateway extends AsyncDisposable {
  readonly url: string;
  readonly key: string;
}

/** In a folder with a `starloom.yaml` or an `agents.yaml`; elsewhere it runs its sample agents. */
export async function startGateway(folder: string): Promise<RunningGateway> {
  await using scope = new AsyncDisposableStack();
  const home = scope.use(await temporaryFolder());
  const gateway = scope.use(
    await startProgram<{ event: string; url: string }>({
      args: [STARLOOM, 'up', '--json', '--port', '0'],
      cwd: folder,
      env: { STARLOOM_HOME: home.path },
    }),
  );
  const { url } = await gateway.line(({ event }) => event === 'ready');
  const { key } = JSON.parse(await readFile(`${home.path}/client.json`, 'utf8'));
  const running = scope.move();
  return { url, key, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
