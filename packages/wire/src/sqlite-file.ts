// What every SQLite file of ours needs: private files, and the meaning of SQLite's result codes.

import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDiskFull } from './own-file.ts';

/** SQLite gives the files beside it the same mode. */
export function createPrivateFiles(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  if (process.platform === 'win32') return;
  chmodSync(dirname(path), 0o700);
  for (const file of ['', '-wal', '-shm'].map((ending) => path + ending)) {
    if (existsSync(file)) chmodSync(file, 0o600);
  }
}

/** By the primary result code of SQLite. */
const REASONS = {
  5: 'in_use',
  8: 'read_only',
  10: 'io_error',
  11: 'corrupt',
  13: 'disk_full',
  14: 'unreachable',
  26: 'foreign',
} as const;

/** SQLITE_IOERR_SHMSIZE: the index of the write-ahead log could not grow. */
const NO_ROOM_FOR_INDEX = 4874;

export type SqliteReason = (typeof REASONS)[keyof typeof REASONS];

/** Why SQLite, or the disk, refused; `undefined` for another cause. */
export function sqliteReason(error: unknown): SqliteReason | undefined {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
  if (code === NO_ROOM_FOR_INDEX || isDiskFull(error)) return 'disk_full';
  return REASONS[(code & 0xff) as keyof typeof REASONS];
}
