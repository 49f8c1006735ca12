import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** A file system of a few megabytes, in memory. */
export interface SmallDisk extends Disposable {
  readonly path: string;
  /** Bytes. */
  free(): number;
  /** Takes every block that is left, as another program might. */
  fill(): void;
  /** Gives them back. */
  empty(): void;
}

/** The reason in words where this machine does not let us mount one. */
export function mountSmallDisk(path: string, megabytes: number): SmallDisk | string {
  if (process.platform !== 'linux') return 'mounting a small file system is for Linux';
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const options = `size=${megabytes}m,mode=0700`;
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]);
  if (mounted.status !== 0) return `mount: ${String(mounted.stderr ?? mounted.error).trim()}`;
  const filler = join(path, 'filler');
  return {
    path,
    free: () => {
      const { bavail, bsize } = statfsSync(path);
      return bavail * bsize;
    },
    fill: () => {
      const file = openSync(filler, 'a', 0o600);
      for (const bytes of [1024 ** 2, 4096]) writeUntilFull(file, Buffer.alloc(bytes));
      closeSync(file);
    },
    empty: () => rmSync(filler, { force: true }),
    [Symbol.dispose]: () => {
      const { status } = spawnSync('umount', [path]);
      if (status !== 0) spawnSync('umount', ['-l', path]);
    },
  };
}

function writeUntilFull(file: number, block: Buffer): void {
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
