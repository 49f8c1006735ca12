// `client.json`: how to reach what runs here, for its owner alone. A gateway leaves it in the state
// folder, a served agent in the folder of its own state.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeOwnFile as writeText } from '@starloom/wire/own-file';
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

/** A file of the state folder, for its owner alone. */
export async function writeOwnFile(folder: string, name: string, value: object): Promise<string> {
  const path = join(folder, name);
  try {
    await writeText(path, `${JSON.stringify(value, null, 2)}\n`);
    return path;
  } catch (cause) {
    throw notWritable(folder, cause);
  }
}
