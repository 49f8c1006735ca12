// `client.json`: how to reach what runs here, for its owner alone. A gateway leaves it in the state
// folder, a served agent in the folder of its own state.

import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { notWritable } from './state-folder.ts';

const NAME = 'client.json';

const clientSchema = z.object({ url: z.url(), key: z.string().min(1), key_id: z.string() });

export type ClientFile = z.infer<typeof clientSchema>;

/** What the last one to serve wrote; `undefined` when there is nothing that can be read as such. */
export async function readClientFile(folder: string): Promise<ClientFile | undefined> {
  try {
    return clientSchema.safeParse(JSON.parse(await readFile(join(folder, NAME), 'utf8'))).data;
  } catch {
    return undefined;
  }
}

export function writeClientFile(folder: string, client: ClientFile): Promise<string> {
  return writeOwnFile(folder, NAME, client);
}

/**
 * A file for its owner alone. Written beside and put in place at once: a reader never sees half of
 * it.
 */
export async function writeOwnFile(folder: string, name: string, value: object): Promise<string> {
  const path = join(folder, name);
  const fresh = `${path}.${process.pid}`;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(fresh, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
    await chmod(fresh, 0o600);
    await rename(fresh, path);
    return path;
  } catch (cause) {
    throw notWritable(folder, cause);
  }
}
