import { constants } from 'node:fs';
import { access, glob, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type Installation, installPackage } from './install-package.ts';

export interface ProgramDefinition {
  /** Names it goes by, best first. */
  readonly names: readonly string[];
  /** Its Debian package. */
  readonly package: string;
  /** Where it may be besides PATH; patterns are allowed. */
  readonly folders?: readonly string[];
}

export type ProgramResult =
  | { readonly found: true; readonly path: string }
  | { readonly found: false; readonly reason: string; readonly howToInstall: string };

export interface RequireProgramOptions {
  readonly install?: (packageName: string) => Promise<Installation>;
  /** Where a missing program is a failure; by default when CI=true. */
  readonly mustExist?: boolean;
}

const WELL_KNOWN_FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin'];

export async function findProgram(
  names: readonly string[],
  extraFolders: readonly string[] = [],
): Promise<string | undefined> {
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const folders = [...onPath, ...WELL_KNOWN_FOLDERS, ...(await expand(extraFolders))];
  for (const name of names) {
    for (const folder of folders) {
      const path = join(folder, name);
      if (await isExecutable(path)) return path;
    }
  }
  return undefined;
}

/** The program as it is there, or as it was just installed. */
export async function requireProgram(
  definition: ProgramDefinition,
  options: RequireProgramOptions = {},
): Promise<ProgramResult> {
  const { install = installPackage, mustExist = process.env.CI === 'true' } = options;
  const present = await findProgram(definition.names, definition.folders);
  if (present !== undefined) return { found: true, path: present };

  const installation = await install(definition.package);
  const installed = await findProgram(definition.names, definition.folders);
  if (installed !== undefined) return { found: true, path: installed };

  const [name] = definition.names;
  const howToInstall = `apt-get install ${definition.package}, or put ${name} on PATH`;
  const reason = installation.installed
    ? `the package ${definition.package} brought no ${name}`
    : installation.reason;
  if (mustExist) throw new Error(`${name} is needed here: ${howToInstall} (${reason})`);
  return { found: false, reason, howToInstall };
}

/** Newest version first, as far as names tell. */
async function expand(patterns: readonly string[]): Promise<string[]> {
  const folders: string[] = [];
  for (const pattern of patterns) {
    const matches = await Array.fromAsync(glob(pattern));
    folders.push(...matches.sort((a, b) => b.localeCompare(a, 'en', { numeric: true })));
  }
  return folders;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
