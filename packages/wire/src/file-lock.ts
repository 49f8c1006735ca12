// Processes that change a file take turns by a lock file beside it, which holds the id of the process
// that has the turn. A lock of a process that is gone does not count.

import { readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FabricError } from '@starloom/core';

const WAIT_MS = 10_000;
const RETRY_MS = 15;

export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const target = await realpath(path).catch(() => path);
  const lock = join(dirname(target), `.${basename(target)}.lock`);
  const began = performance.now();
  while (!(await isTaken(lock))) {
    if (await isAbandoned(lock)) await rm(lock, { force: true });
    else if (performance.now() - began > WAIT_MS) throw busy(path, lock);
    else await delay(RETRY_MS);
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

/** True when the turn is ours from now on. */
async function isTaken(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function isAbandoned(lock: string): Promise<boolean> {
  const pid = Number(await readFile(lock, 'utf8').catch(() => ''));
  // Empty for a moment, between its creation and its first write.
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function busy(path: string, lock: string): FabricError {
  return new FabricError('OVERLOADED', `Another process is changing ${path}`, {
    details: { reason: 'file_busy', file: path, fix: `try again; if none is, remove ${lock}` },
  });
}
