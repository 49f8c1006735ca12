// Confinement. A tool gets a path only from `locate`, which has resolved every symbolic link of what
// exists of it and compared the rest by whole segments: nothing outside the roots is named by it. What
// was opened is looked at once more (`assertOpened`), should a folder have become a link meanwhile.

import type { FileHandle } from 'node:fs/promises';
import { readlink, realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { type ErrorDetails, FabricError } from '@starloom/core';
import { realPathOf } from './real-path.ts';

const ON_LINUX = process.platform === 'linux';

interface Root {
  /** As it was named. */
  readonly named: string;
  readonly real: string;
}

export class Roots {
  readonly #roots: readonly [Root, ...Root[]];

  private constructor(roots: readonly [Root, ...Root[]]) {
    this.#roots = roots;
  }

  /** Relative names begin in `folder`. BAD_INPUT when one is no folder that exists. */
  static async open([first, ...others]: readonly string[], folder: string): Promise<Roots> {
    const root = await openRoot(first ?? '.', folder);
    return new Roots([root, ...(await Promise.all(others.map((name) => openRoot(name, folder))))]);
  }

  /** The folder where relative paths begin. */
  get home(): string {
    return this.#roots[0].real;
  }

  /**
   * The real path of what a caller named, which may not exist yet. POLICY_DENIED when that is
   * outside the roots, by whatever way; BAD_INPUT when it is no path.
   */
  async locate(given: string): Promise<string> {
    if (given === '' || given.includes('\0')) throw badPath(given);
    if (given.split(/[/\\]/).includes('..')) {
      throw this.#denied(given, 'parent_segment', 'write the path without ".."');
    }
    const asked = resolve(this.home, given);
    const isNamedInside = this.#roots.some(
      ({ named, real }) => isInside(named, asked) || isInside(real, asked),
    );
    if (!isNamedInside) throw this.#denied(given, 'outside_roots');
    const real = await realPathOf(asked, given);
    if (!this.contains(real)) throw this.#denied(given, 'symlink_out');
    return real;
  }

  contains(realPath: string): boolean {
    return this.#roots.some(({ real }) => isInside(real, realPath));
  }

  /** POLICY_DENIED when what was opened under `path` lies elsewhere. */
  async assertOpened({ fd }: FileHandle, path: string): Promise<void> {
    const opened = await (ON_LINUX ? readlink(`/proc/self/fd/${fd}`) : realpath(path));
    if (!this.contains(opened)) throw this.#denied(this.show(path), 'moved_meanwhile');
  }

  /** A path as a caller may name it again, with slashes. */
  show(realPath: string): string {
    const path = isInside(this.home, realPath) ? relative(this.home, realPath) : realPath;
    return path === '' ? '.' : path.replaceAll(sep, '/');
  }

  #denied(path: string, reason: string, fix?: string): FabricError {
    const roots = this.#roots.map(({ named }) => named);
    const details: ErrorDetails = {
      reason,
      path,
      roots,
      fix: fix ?? 'name a path below one of the roots',
    };
    return new FabricError('POLICY_DENIED', 'The path is outside the folders this tool may use', {
      details,
    });
  }
}

async function openRoot(name: string, folder: string): Promise<Root> {
  const named = resolve(folder, name);
  const found = await stat(named).catch(() => undefined);
  if (found?.isDirectory()) return { named, real: await realpath(named) };
  throw new FabricError('BAD_INPUT', `The root "${name}" is not a folder`, {
    details: { reason: 'bad_root', root: named, fix: 'name a folder that exists in "roots"' },
  });
}

/** By segments: `/data-old` is not inside `/data`, and `..x` is a name like any other. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function badPath(path: string): FabricError {
  return new FabricError('BAD_INPUT', 'This is not a path', {
    details: { reason: 'bad_path', path, fix: 'give a path relative to the root' },
  });
}
