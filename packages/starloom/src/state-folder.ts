// Where what outlives a command is kept: keys, sessions, decisions, and how to reach what runs here.

import { mkdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { FabricError } from '@starloom/core';
import { closeToOthers, writeOwnFile } from '@starloom/wire/own-file';
import { z } from 'zod';
import { failure } from './reasons.ts';

type Env = Readonly<Record<string, string | undefined>>;

export function stateFolder(env: Env): string {
  if (env.STARLOOM_HOME) return env.STARLOOM_HOME;
  return join(env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'starloom');
}

/** Its own folders; an earlier version, or a copy, may have left them open to other users. */
const FOLDERS = [
  ...['agents', 'audit', 'conversations', 'identity'],
  ...['jobs', 'journal', 'oauth', 'secrets'],
];

export async function makeStateFolder(env: Env): Promise<string> {
  const folder = stateFolder(env);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const name of FOLDERS) await closeToOthers(join(folder, name), 0o700);
    return folder;
  } catch (cause) {
    throw notWritable(folder, cause);
  }
}

export function identityFolder(stateFolder: string): string {
  return join(stateFolder, 'identity');
}

export function auditFolder(stateFolder: string): string {
  return join(stateFolder, 'audit');
}

function notWritable(folder: string, cause: unknown): FabricError {
  const { code: errno } = cause as NodeJS.ErrnoException;
  return failure('config/state_folder', { folder, errno }, { cause });
}

/** A JSON file of a folder of state, for its owner alone. */
function ownFile<Content extends object>(name: string, schema: z.ZodType<Content>) {
  return {
    /** `undefined` when there is nothing that can be read as such. */
    async read(folder: string): Promise<Content | undefined> {
      try {
        return schema.safeParse(JSON.parse(await readFile(join(folder, name), 'utf8'))).data;
      } catch {
        return undefined;
      }
    },
    async write(folder: string, content: Content): Promise<string> {
      const path = join(folder, name);
      try {
        await writeOwnFile(path, `${JSON.stringify(content, null, 2)}\n`);
        return path;
      } catch (cause) {
        throw notWritable(folder, cause);
      }
    },
  };
}

/**
 * How to reach what runs here. A gateway leaves it in the state folder, a served agent in the folder of its
 * own state.
 */
export const clientFile = ownFile(
  'client.json',
  z.object({ url: z.url(), key: z.string().min(1), key_id: z.string() }),
);

const gatewaySchema = z.object({
  url: z.url(),
  pid: z.int(),
  /** Absolute; absent when the agents are not in a file. */
  agents_file: z.string().optional(),
  samples: z.boolean(),
});

/**
 * What the gateway that runs here reads its agents from, so that `agents add` in another folder finds the
 * file. It says nothing once that gateway is gone: its reader asks the gateway first.
 */
export const gatewayFile = ownFile('gateway.json', gatewaySchema);
