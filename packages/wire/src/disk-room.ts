import { statfsSync } from 'node:fs';
import type { FabricError } from '@starloom/core';
import { failure } from './reasons.ts';

const MAX_KEPT_BYTES = 64 * 1024 ** 2;
const KEPT_SHARE = 1 / 8;

export interface DiskRoom {
  readonly size: number;
  /** What is kept back. */
  readonly kept: number;
  /** What may be filled; negative where what is kept back is in use. */
  readonly room: number;
}

const MUCH = Number.POSITIVE_INFINITY;
const UNKNOWN: DiskRoom = { size: MUCH, kept: 0, room: MUCH };

/**
 * The disk of a folder. An eighth of it, at most 64 MiB, is kept back from what callers can make grow:
 * for revocations, cancellations, the audit log, and the end of what has begun.
 */
export function diskRoom(folder: string): DiskRoom {
  try {
    const { blocks, bavail, bsize } = statfsSync(folder);
    const size = blocks * bsize;
    if (size === 0) return UNKNOWN;
    const kept = Math.min(MAX_KEPT_BYTES, size * KEPT_SHARE);
    return { size, kept, room: bavail * bsize - kept };
  } catch {
    return UNKNOWN; // The next write to the folder reports what is wrong with it.
  }
}

/**
 * How many pages of 4 KiB SQLite may keep in its log before they are written to the file, which then
 * grows: little of a small disk.
 */
export function logPages(folder: string, most: number): number {
  return Math.max(64, Math.min(most, Math.floor(diskRoom(folder).size / 128 / 4096)));
}

export function diskFull(what: string): FabricError {
  return failure('disk_full', { what });
}
