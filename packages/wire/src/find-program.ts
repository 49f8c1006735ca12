import { access, constants, stat } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';
import type { Environment } from './environment.ts';

export interface ProgramPlace {
  readonly command: string;
  readonly cwd?: string;
  readonly env?: Environment;
}

/** The file that would be started, looked for as the system does; `undefined` when there is none. */
export async function findProgram(place: ProgramPlace): Promise<string | undefined> {
  const cwd = resolve(place.cwd ?? '.');
  if (!(await stat(cwd).catch(() => undefined))?.isDirectory()) return undefined;
  for (const candidate of candidates(place, cwd)) {
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

function candidates({ command, env = {} }: ProgramPlace, cwd: string): string[] {
  const isPath = command.includes('/') || (WINDOWS && command.includes('\\'));
  const folders = isPath ? [cwd] : (env.PATH ?? env.Path ?? DEFAULT_PATH).split(delimiter);
  const endings = WINDOWS ? ['', ...(env.PATHEXT ?? '.EXE;.CMD').split(';')] : [''];
  return folders.flatMap((folder) =>
    endings.map((ending) => resolve(cwd, folder, command + ending)),
  );
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

const WINDOWS = process.platform === 'win32';
const DEFAULT_PATH = '/usr/bin:/bin';
