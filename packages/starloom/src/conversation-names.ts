// Short names for the conversations of this user: an id is sealed, and far too long to be typed. Each
// name is a file of the state folder that holds the latest id, for its owner alone.

import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeOwnFolder } from '@starloom/wire/own-file';
import { writeNew } from './files/artifacts.ts';
import { stateFolder } from './state-folder.ts';
import type { Terminal } from './terminal.ts';

/** Ids have a dot, names do not. */
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
/** Of these the oldest ones are forgotten. */
const MAX_NAMES = 200;

/** The id behind a name; what is no name of ours is taken as an id. */
export async function toConversationId({ env }: Terminal, given: string): Promise<string> {
  if (!NAME.test(given)) return given;
  return await readFile(join(folderOf(env), given), 'utf8').catch(() => given);
}

/** Keeps the id under the name it had, or a new one such as `percy-2`; the id where that fails. */
export async function nameConversation(
  { env }: Terminal,
  agentId: string,
  id: string,
  before?: string,
): Promise<string> {
  const folder = folderOf(env);
  try {
    await makeOwnFolder(folder);
    const names = await readdir(folder);
    if (before !== undefined && names.includes(before)) {
      await writeFile(join(folder, before), id, { mode: 0o600 });
      return before;
    }
    await forgetOldest(folder, names);
    return await keepAs(folder, agentId, names, id);
  } catch {
    return id;
  }
}

/** Under the next free number; a name is made only once, also by commands that run side by side. */
async function keepAs(folder: string, agentId: string, names: readonly string[], id: string) {
  const numbers = names
    .filter((name) => name.startsWith(`${agentId}-`))
    .map((name) => Number(name.slice(agentId.length + 1)) || 0);
  for (let number = Math.max(0, ...numbers) + 1; ; number += 1) {
    const name = `${agentId}-${number}`;
    if (await writeNew(join(folder, name), id)) return name;
  }
}

async function forgetOldest(folder: string, names: readonly string[]): Promise<void> {
  if (names.length < MAX_NAMES) return;
  const paths = names.map((name) => join(folder, name));
  const dated = paths.map(async (path) => ({ path, at: (await stat(path)).mtimeMs }));
  const [oldest] = (await Promise.all(dated)).toSorted((a, b) => a.at - b.at);
  if (oldest) await rm(oldest.path, { force: true });
}

function folderOf(env: Terminal['env']): string {
  return join(stateFolder(env), 'conversations');
}
