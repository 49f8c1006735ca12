// Another user of this machine, for programs that must not have the rights of the gateway. It needs the
// right to change users, and to end what runs as another one: root has both. By sudo neither the signals
// nor the environment of a program would be ours to decide.

import { execFile } from 'node:child_process';
import { spawnProcess } from '@starloom/wire';

export interface OtherUser {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
  readonly home: string;
}

const PROBE_MS = 10_000;

/** By name: whether programs can run as that user here is tried once. */
const known = new Map<string, Promise<OtherUser | undefined>>();

/** `undefined` when there is no such user, or when programs cannot run as it from here. */
export function findOtherUser(user: string): Promise<OtherUser | undefined> {
  const found = known.get(user) ?? probe(user);
  known.set(user, found);
  return found;
}

async function probe(user: string): Promise<OtherUser | undefined> {
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
