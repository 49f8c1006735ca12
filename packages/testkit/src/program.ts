import { glob } from 'node:fs/promises';
import { delimiter } from 'node:path';
import { findProgram as findCommand } from '@starloom/wire';
import { type Installation, installPackage } from './install-package.ts';

export interface ProgramDefinition {
  readonly names: readonly string[];
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
  const env = { PATH: folders.join(delimiter) };
  for (const command of names) {
    const path = await findCommand({ command, env });
    if (path !== undefined) return path;
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
