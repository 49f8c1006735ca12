// Where a gateway leaves word for the commands that talk to it: `client.json`, for its owner alone.

import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { FabricError } from '@starloom/core';
import { z } from 'zod';

type Env = Readonly<Record<string, string | undefined>>;

const clientSchema = z.object({ url: z.url(), key: z.string().min(1), key_id: z.string() });

export type ClientFile = z.infer<typeof clientSchema>;

export function stateFolder(env: Env): string {
  if (env.STARLOOM_HOME) return env.STARLOOM_HOME;
  return join(env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'starloom');
}

/** What the last `starloom up` wrote; `undefined` when there is nothing that can be read as such. */
export async function readClientFile(env: Env): Promise<ClientFile | undefined> {
  try {
    const text = await readFile(join(stateFolder(env), 'client.json'), 'utf8');
    return clientSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The state folder, made if it is not there yet. */
export async function makeStateFolder(env: Env): Promise<string> {
  const folder = stateFolder(env);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  } catch (cause) {
    throw notWritable(folder, cause);
  }
}

/** Written beside and put in place at once: a reader never sees half of it. */
export async function writeClientFile(env: Env, client: ClientFile): Promise<string> {
  const folder = await makeStateFolder(env);
  const path = join(folder, 'client.json');
  try {
    const fresh = `${path}.${process.pid}`;
    await writeFile(fresh, `${JSON.stringify(client, null, 2)}\n`, { mode: 0o600 });
    await chmod(fresh, 0o600);
    await rename(fresh, path);
    return path;
  } catch (cause) {
    throw notWritable(folder, cause);
  }
}

function notWritable(folder: string, cause: unknown): FabricError {
  const { code } = cause as NodeJS.ErrnoException;
  return new FabricError('BAD_INPUT', `Cannot write to the state folder ${folder} (${code})`, {
    details: { reason: 'config', folder, fix: 'make it writable, or set STARLOOM_HOME' },
    cause,
  });
}
