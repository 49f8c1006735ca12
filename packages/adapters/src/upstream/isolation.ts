// Bubblewrap around a program: it sees the file system read-only except the folder it runs in and
// those named writable, a private /tmp, and no processes but its own. What it may read stays
// readable, so that logins in the home folder work; `hidden` folders are empty to it.

import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { type Capability, FabricError } from '@starloom/core';
import type { ProcessOptions } from '@starloom/wire';
import { findProgram } from './find-program.ts';

export const ISOLATION_LEVELS = ['none', 'preferred', 'required'] as const;

export interface Isolation {
  readonly level: (typeof ISOLATION_LEVELS)[number];
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly network: boolean;
}

/** What the program runs in: reported to callers. */
export type IsolationState = 'none' | 'bubblewrap' | 'unavailable';

const PROBE_MS = 10_000;
const NAMESPACES = ['--die-with-parent', '--unshare-pid', '--unshare-ipc', '--unshare-uts'];
const VIEW = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'];

export async function isolationState({ level }: Pick<Isolation, 'level'>): Promise<IsolationState> {
  if (level === 'none') return 'none';
  return (await findBubblewrap()) === undefined ? 'unavailable' : 'bubblewrap';
}

/** What an agent serves, with what its program runs in where the manifest asks for isolation. */
export async function describeIsolation(
  capabilities: readonly Capability[],
  { level }: Pick<Isolation, 'level'>,
): Promise<readonly Capability[]> {
  if (level === 'none') return capabilities;
  const isolation = await isolationState({ level });
  return capabilities.map((capability) => ({
    ...capability,
    annotations: { ...capability.annotations, isolation },
  }));
}

/** How the program is started; POLICY_DENIED when it must be isolated and cannot be. */
export async function isolate(
  start: ProcessOptions,
  isolation: Isolation,
): Promise<ProcessOptions> {
  if (isolation.level === 'none') return start;
  const bubblewrap = await findBubblewrap();
  if (bubblewrap !== undefined) return inside(bubblewrap, start, isolation);
  if (isolation.level === 'preferred') return start;
  throw new FabricError(
    'POLICY_DENIED',
    'The program must be isolated, and bubblewrap is missing',
    {
      details: {
        reason: 'isolation_missing',
        sent: false,
        fix: 'install bubblewrap and allow user namespaces, or set isolation to "preferred"',
      },
    },
  );
}

function inside(
  bubblewrap: string,
  start: ProcessOptions,
  { writable, hidden, network }: Isolation,
): ProcessOptions {
  const cwd = resolve(start.cwd ?? '.');
  const mounts = [
    ...[cwd, ...writable].map((folder) => ({ folder: resolve(cwd, folder), isHidden: false })),
    ...hidden.map((folder) => ({ folder: resolve(cwd, folder), isHidden: true })),
  ].sort((one, other) => depthOf(one.folder) - depthOf(other.folder));
  return {
    ...start,
    cwd,
    command: bubblewrap,
    args: [
      ...NAMESPACES,
      ...(network ? [] : ['--unshare-net']),
      ...VIEW,
      ...mounts.flatMap(({ folder, isHidden }) =>
        isHidden ? ['--tmpfs', folder] : ['--bind', folder, folder],
      ),
      '--chdir',
      cwd,
      '--',
      start.command,
      ...(start.args ?? []),
    ],
  };
}

/** What lies inside another folder is mounted after it: the rule closest to a path counts. */
function depthOf(folder: string): number {
  return folder.split('/').filter((name) => name !== '').length;
}

/** By the PATH it was looked for in: whether it works here is tried once. */
const found = new Map<string, Promise<string | undefined>>();

function findBubblewrap(): Promise<string | undefined> {
  const path = process.env.PATH ?? '';
  const known = found.get(path) ?? probe(path);
  found.set(path, known);
  return known;
}

/** The program may be there and the kernel refuse the namespaces it needs. */
async function probe(path: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined;
  const program = await findProgram({ command: 'bwrap', env: { PATH: path } });
  if (program === undefined) return undefined;
  const args = [...NAMESPACES, ...VIEW, '--', '/bin/true'];
  return new Promise((settle) => {
    execFile(program, args, { timeout: PROBE_MS }, (error) => settle(error ? undefined : program));
  });
}
