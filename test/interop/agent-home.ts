// What agents of other projects need in a test: their packages, and a home in which their model is the
// server of the test.

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { prepareNpm } from '@starloom/testkit';

export interface AgentHome {
  /** `node_modules` with the agent. */
  readonly modules: string;
  /** Its home, in which it works, too. */
  readonly home: string;
  /** Of the model server. */
  readonly model: string;
}

/** A key where one has to be. */
export const KEY = 'not-a-key';

/** A package of npm with its exact version. */
export function npm(name: string) {
  return { prepare: () => prepareNpm([name]) };
}

/** Lets codex find its model on the server; its key is in the variable `env_key`. */
export async function writeCodexConfig(home: string, model: string, envKey: string): Promise<void> {
  const lines = [
    'model = "stub"',
    'model_provider = "stub"',
    '[model_providers.stub]',
    'name = "stub"',
    `base_url = "${model}/v1"`,
    'wire_api = "responses"',
    `env_key = "${envKey}"`,
  ];
  await writeInto(join(home, '.codex/config.toml'), lines.join('\n'));
}

/** Makes the folders of the path, too. */
export async function writeInto(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
