// Isolates a program by another user, or by bubblewrap. In bubblewrap it sees the file system read-only
// except the folder it runs in and those named writable, a private /tmp, and no processes but its own. A
// program that lies below /tmp itself is shown there, read-only. Other files stay readable, so that logins
// in the home folder work; `hidden` folders look empty.

import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Capability, FabricError, Health, Log } from '@starloom/core';
import { findProgram, type ProcessOptions, spawnProcess } from '@starloom/wire';
import { failure } from '../reasons.ts';

export const ISOLATION_LEVELS = ['none', 'preferred', 'required'] as const;

export interface Isolation {
  readonly level: (typeof ISOLATION_LEVELS)[number];
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly network: boolean;
  /** Whom it runs as, in place of bubblewrap. */
  readonly user: string | undefined;
}

/** What the program runs in: reported to callers. */
type IsolationState = 'none' | 'bubblewrap' | 'user' | 'unavailable';

type Wanted = Pick<Isolation, 'level' | 'user'>;

const PROBE_MS = 10_000;
const NAMESPACES = ['--die-with-parent', '--unshare-pid', '--unshare-ipc', '--unshare-uts'];
const TMP = '/tmp';
const VIEW = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', TMP];

export async function isolationState({ level, user }: Wanted): Promise<IsolationState> {
  if (user !== undefined) return (await findOtherUser(user)) ? 'user' : 'unavailable';
  if (level === 'none') return 'none';
  return (await findBubblewrap()) === undefined ? 'unavailable' : 'bubblewrap';
}

/** What an agent serves, with what its program runs in where the manifest asks for isolation. */
export async function describeIsolation(
  capabilities: readonly Capability[],
  wanted: Wanted,
): Promise<readonly Capability[]> {
  const isolation = await isolationState(wanted);
  if (isolation === 'none') return capabilities;
  return capabilities.map((capability) => ({
    ...capability,
    annotations: { ...capability.annotations, isolation },
  }));
}

/** Whether the program may run when it cannot be isolated. A named user is required. */
export function mayRunWithout({ level, user }: Wanted): boolean {
  return level === 'preferred' || (level === 'none' && user === undefined);
}

/** How the program is started; POLICY_DENIED when it must be isolated and cannot be. */
export async function isolate(
  start: ProcessOptions,
  isolation: Isolation,
  log: Log,
): Promise<ProcessOptions> {
  const isolated = await find(start, isolation);
  if (isolated) return isolated;
  if (!mayRunWithout(isolation)) throw missingIsolation(isolation);
  if (isolation.level === 'preferred') reportUnisolated(isolation, log);
  return start;
}

/** Reports a program that runs without the isolation that it should have; logged once. */
export function reportUnisolated(isolation: Isolation, log: Log): Pick<Health, 'message' | 'fix'> {
  const message = 'The program runs without isolation';
  const { fix } = missingIsolation(isolation).details;
  if (!warned.has(isolation)) log.warn({ fix }, 'the program runs without isolation');
  warned.add(isolation);
  return { message, fix: String(fix) };
}

const warned = new WeakSet<Isolation>();

async function find(
  start: ProcessOptions,
  isolation: Isolation,
): Promise<ProcessOptions | undefined> {
  if (isolation.user !== undefined) {
    const user = await findOtherUser(isolation.user);
    return user && asUser(user, start);
  }
  const bubblewrap = isolation.level === 'none' ? undefined : await findBubblewrap();
  return bubblewrap === undefined ? undefined : await inBubblewrap(bubblewrap, start, isolation);
}

/** With the home of that user, unless the manifest names one. */
function asUser({ uid, gid, name, home }: OtherUser, start: ProcessOptions): ProcessOptions {
  const own = { HOME: home, USER: name, LOGNAME: name };
  const { env = {} } = start;
  const changed = Object.entries(own).filter(([key]) => env[key] === process.env[key]);
  return { ...start, uid, gid, env: { ...env, ...Object.fromEntries(changed) } };
}

function missingIsolation({ user }: Isolation): FabricError {
  return user === undefined
    ? failure('isolation_missing')
    : failure('isolation_missing/user', { user });
}

async function inBubblewrap(
  bubblewrap: string,
  start: ProcessOptions,
  { writable, hidden, network }: Isolation,
): Promise<ProcessOptions> {
  const cwd = resolve(start.cwd ?? '.');
  const mounts = [
    ...(await programBelowTmp(start, cwd)).map((path) => ['--ro-bind', path, path]),
    ...[cwd, ...writable].map((path) => ['--bind', resolve(cwd, path), resolve(cwd, path)]),
    ...hidden.map((path) => ['--tmpfs', resolve(cwd, path)]),
  ].sort(([, one = ''], [, other = '']) => depthOf(one) - depthOf(other));
  return {
    ...start,
    cwd,
    command: bubblewrap,
    args: [
      ...NAMESPACES,
      ...(network ? [] : ['--unshare-net']),
      ...VIEW,
      ...mounts.flat(),
      '--chdir',
      cwd,
      '--',
      start.command,
      ...(start.args ?? []),
    ],
  };
}

/**
 * The private /tmp covers a program that lies below it. Its command, and what the arguments name, are
 * shown with everything beside them: by the topmost folder below /tmp.
 */
async function programBelowTmp(
  { command, args = [], env = {} }: ProcessOptions,
  cwd: string,
): Promise<string[]> {
  const program = await findProgram({ command, cwd, env });
  const named = [program, ...args.map((argument) => resolve(cwd, argument))].filter(isBelowTmp);
  const real = await Promise.all(named.map((path) => realpath(path).catch(() => undefined)));
  const existing = named.filter((_, index) => real[index] !== undefined);
  const tops = [...existing, ...real].filter(isBelowTmp).map(topmost);
  return [...new Set(tops)];
}

function isBelowTmp(path: string | undefined): path is string {
  return path?.startsWith(`${TMP}/`) === true;
}

function topmost(path: string): string {
  return join(TMP, path.split('/')[2] ?? '');
}

/** What lies inside another folder is mounted after it: the rule closest to a path counts. */
function depthOf(folder: string): number {
  return folder.split('/').filter((name) => name !== '').length;
}

/** By the PATH it was looked for in: whether it works here is tried once. */
const found = new Map<string, Promise<string | undefined>>();

function findBubblewrap(): Promise<string | undefined> {
  const path = process.env.PATH ?? '';
  const known = found.get(path) ?? probeBubblewrap(path);
  found.set(path, known);
  return known;
}

/** The program may be there and the kernel refuse the namespaces it needs. */
async function probeBubblewrap(path: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined;
  const program = await findProgram({ command: 'bwrap', env: { PATH: path } });
  if (program === undefined) return undefined;
  const args = [...NAMESPACES, ...VIEW, '--', '/bin/true'];
  return new Promise((settle) => {
    execFile(program, args, { timeout: PROBE_MS }, (error) => settle(error ? undefined : program));
  });
}

/**
 * Another user of this machine, for programs that must not have the rights of the gateway. It needs
 * the right to change users, and to end what runs as another one: root has both. By sudo neither
 * the signals nor the environment of a program would be ours to decide.
 */
interface OtherUser {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
  readonly home: string;
}

/** By name: whether programs can run as that user here is tried once. */
const knownUsers = new Map<string, Promise<OtherUser | undefined>>();

/** `undefined` when there is no such user, or when programs cannot run as it from here. */
function findOtherUser(user: string): Promise<OtherUser | undefined> {
  const found = knownUsers.get(user) ?? probeUser(user);
  knownUsers.set(user, found);
  return found;
}

async function probeUser(user: string): Promise<OtherUser | undefined> {
  if (process.platform !== 'linux') return undefined;
  const found = await lookUp(user);
  if (!found || found.uid === process.getuid?.()) return undefined;
  return (await canRunAs(found)) ? found : undefined;
}

/** A line of the user database, whatever that is kept in. */
function lookUp(user: string): Promise<OtherUser | undefined> {
  return new Promise((settle) => {
    execFile('getent', ['--', 'passwd', user], { timeout: PROBE_MS }, (error, line) => {
      const [name = '', , uid, gid, , home = '/'] = String(line).trim().split(':');
      const isFound = !error && /^\d+$/.test(uid ?? '') && /^\d+$/.test(gid ?? '');
      settle(isFound ? { name, uid: Number(uid), gid: Number(gid), home } : undefined);
    });
  });
}

/** It starts as that user, and we may end it. */
async function canRunAs({ uid, gid }: OtherUser): Promise<boolean> {
  try {
    const child = await spawnProcess({ command: '/bin/cat', cwd: '/', uid, gid });
    const isOurs = child.signal('SIGTERM');
    await child.stop();
    return isOurs;
  } catch {
    return false;
  }
}
