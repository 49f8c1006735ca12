// Where what outlives a command is kept: keys, sessions, decisions, and how to reach what runs here.

import { mkdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { FabricError } from '@starloom/core';
import { closeToOthers, writeOwnFile as writeText } from '@starloom/wire/own-file';
import { z } from 'zod';
import { failure } from './reasons.ts';

type Env = Readonly<Record<string, string | undefined>>;

export function stateFolder(env: Env): string {
  if (env.STARLOOM_HOME) return env.STARLOOM_HOME;
  return join(env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'starloom');
}

/** Its own folders; an earlier version, or a copy, may have left them open to other users. */
const FOLDERS = [
  'agents',
  'audit',
  'conversations',
  'identity',
  'jobs',
  'journal',
  'oauth',
  'secrets',
];

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

function notWritable(folder: string, cause: unknown): FabricError {
  const { code: errno } = cause as NodeJS.ErrnoException;
  return failure('config/state_folder', { folder, errno }, { cause });
}

/**
 * `client.json`: how to reach what runs here. A gateway leaves it in the state folder, a served agent in
 * the folder of its own state.
 */
const CLIENT_FILE = 'client.json';

const clientSchema = z.object({ url: z.url(), key: z.string().min(1), key_id: z.string() });

export type ClientFile = z.infer<typeof clientSchema>;

export function readClientFile(folder: string): Promise<ClientFile | undefined> {
  return readOwnFile(folder, CLIENT_FILE, clientSchema);
}

export function writeClientFile(folder: string, client: ClientFile): Promise<string> {
  return writeOwnFile(folder, CLIENT_FILE, client);
}

/**
 * `gateway.json`: what the gateway that runs here reads its agents from, so that `agents add` in another
 * folder finds the file. It says nothing once that gateway is gone: its reader asks the gateway first.
 */
const GATEWAY_FILE = 'gateway.json';

const gatewaySchema = z.object({
  url: z.url(),
  pid: z.int(),
  /** Absolute; absent when the agents are not in a file. */
  agents_file: z.string().optional(),
  /** Whether sample agents run beside those of the file. */
  samples: z.boolean(),
});

export type GatewayFile = z.infer<typeof gatewaySchema>;

export function readGatewayFile(folder: string): Promise<GatewayFile | undefined> {
  return readOwnFile(folder, GATEWAY_FILE, gatewaySchema);
}

export async function writeGatewayFile(folder: string, gateway: GatewayFile): Promise<void> {
  await writeOwnFile(folder, GATEWAY_FILE, gateway);
}

/** `undefined` when there is nothing that can be read as such. */
async function readOwnFile<T>(folder: string, name: string, schema: z.ZodType<T>) {
  try {
    return schema.safeParse(JSON.parse(await readFile(join(folder, name), 'utf8'))).data;
  } catch {
    return undefined;
  }
}

/** For its owner alone. */
async function writeOwnFile(folder: string, name: string, value: object): Promise<string> {
  const path = join(folder, name);
  try {
    await writeText(path, `${JSON.stringify(value, null, 2)}\n`);
    return path;
  } catch (cause) {
    throw notWritable(folder, cause);
  }
}
