// Processes that change a file take turns by a lock file beside it. It names the process that has the
// turn, and when that process started; it is written elsewhere and linked, so that it is whole from its
// first moment. A lock of a process that is gone does not count, nor does one that names none.

import { randomUUID } from 'node:crypto';
import { link, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { codeOf, writeFresh, writeOwnFile } from './own-file.ts';
import { startOf } from './process-group.ts';
import { failure } from './reasons.ts';

const WAIT_MS = 10_000;
const RETRY_MS = 15;
/** Earlier versions made the file first and wrote to it after that. */
const EMPTY_MS = 2_000;

export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const target = await realpath(path).catch(() => path);
  const lock = join(dirname(target), `.${basename(target)}.lock`);
  await take(lock, path);
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

/** Resolves when the turn is ours. */
async function take(lock: string, path: string): Promise<void> {
  const text = `${process.pid} ${startOf(process.pid) ?? ''}\n`;
  const fresh = `${lock}.${randomUUID()}`;
  const began = performance.now();
  try {
    await writeFresh(fresh, text);
    while (!((await isTaken(lock, fresh, text)) || (await isTakenOver(lock, fresh, text)))) {
      if (performance.now() - began > WAIT_MS) throw failure('file_busy', { file: path, lock });
      await delay(RETRY_MS);
    }
  } finally {
    await rm(fresh, { force: true });
  }
}

/** True when the turn is ours from now on. */
async function isTaken(lock: string, fresh: string, text: string): Promise<boolean> {
  try {
    await link(fresh, lock);
    return true;
  } catch (error) {
    const code = codeOf(error) ?? '';
    if (code === 'EEXIST') return false;
    if (!NO_LINKS.has(code)) throw error;
    return await isMade(lock, text);
  }
}

/** Of file systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

async function isMade(lock: string, text: string): Promise<boolean> {
  try {
    await writeFile(lock, text, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    await rm(lock, { force: true });
    throw error;
  }
}

/**
 * True when the lock was abandoned and is ours now. Of all processes that find it so, one makes the
 * claim beside it, which is named after that lock, and that one alone puts its own lock in its place. A claim can be abandoned, too.
 */
async function isTakenOver(lock: string, fresh: string, text: string): Promise<boolean> {
  const abandoned = await abandonedIn(lock);
  if (abandoned === undefined) return false;
  const claim = `${lock}.${abandoned}`;
  const isOurs = (await isTaken(claim, fresh, text)) || (await isTakenOver(claim, fresh, text));
  if (!isOurs) return false;
  try {
    // Another process may have taken it over and given it back before the claim was ours.
    if ((await abandonedIn(lock)) !== abandoned) return false;
    await writeOwnFile(lock, text);
    return true;
  } finally {
    await rm(claim, { force: true });
  }
}

/** A name for the lock that is there, if its process is gone. */
async function abandonedIn(lock: string): Promise<string | undefined> {
  const text = await readFile(lock, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const [, pid, start] = /^(\d+)(?: (\d+))?\s*$/.exec(text) ?? [];
  if (pid === undefined) {
    const made = await stat(lock).catch(() => undefined);
    const isOld = made !== undefined && Math.abs(Date.now() - made.mtimeMs) > EMPTY_MS;
    return isOld ? `${made.ino}` : undefined;
  }
  return isRunning(Number(pid), start) ? undefined : `${pid}-${start ?? ''}`;
}

function isRunning(pid: number, start: string | undefined): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
  const now = startOf(pid);
  return start === undefined || now === undefined || now === start;
}
