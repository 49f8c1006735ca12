// Where what outlives a command is kept: keys, sessions, decisions.

import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { FabricError } from '@starloom/core';
import { closeToOthers } from '@starloom/wire/own-file';

type Env = Readonly<Record<string, string | undefined>>;

export function stateFolder(env: Env): string {
  if (env.STARLOOM_HOME) return env.STARLOOM_HOME;
  return join(env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'starloom');
}

/** Its own folders; an earlier version, or a copy, may have left them open to other users. */
const FOLDERS = ['agents', 'audit', 'conversations', 'identity', 'jobs', 'oauth', 'secrets'];

/** The state folder, made if it is not there yet. */
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

/** Where keys, signing keys and revocations are kept. */
export function identityFolder(stateFolder: string): string {
  return join(stateFolder, 'identity');
}

/** Where the gateway writes down what it decided. */
export function auditFolder(stateFolder: string): string {
  return join(stateFolder, 'audit');
}

export function notWritable(folder: string, cause: unknown): FabricError {
  const { code } = cause as NodeJS.ErrnoException;
  return new FabricError('BAD_INPUT', `Cannot write to the state folder ${folder} (${code})`, {
    details: { reason: 'config', folder, fix: 'make it writable, or set STARLOOM_HOME' },
    cause,
  });
}
