// Confinement. A tool gets a path only from `locate`, which has resolved every symbolic link of what
// exists of it and compared the rest by whole segments: nothing outside the roots is named by it. What
// was opened is looked at once more (`assertOpened`), should a folder have become a link meanwhile.

import { type FileHandle, lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { FabricError } from '@starloom/core';
import { codeOf } from '../own-file.ts';
import { failure } from '../reasons.ts';
import { fileFailure } from './read-file.ts';

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

  /**
   * Where a client works in `folder`: that folder in place of the root that it is below, and first. The same
   * roots where it is below none.
   */
  async narrowTo(folder: string | undefined): Promise<Roots> {
    const named = folder === undefined ? undefined : resolve(folder);
    const real = named && (await realpath(named).catch(() => undefined));
    const above = real && this.#roots.find((root) => isInside(root.real, real));
    if (!named || !real || !above) return this;
    return new Roots([{ named, real }, ...this.#roots.filter((root) => root !== above)]);
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
    if (given === '' || given.includes('\0')) throw failure('bad_path', { path: given });
    if (given.split(/[/\\]/).includes('..')) {
      throw this.#denied(given, 'parent_segment');
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

  #denied(
    path: string,
    reason: 'outside_roots' | 'symlink_out' | 'moved_meanwhile' | 'parent_segment',
  ): FabricError {
    return failure(reason, { path, roots: this.#roots.map(({ named }) => named) });
  }
}

async function openRoot(name: string, folder: string): Promise<Root> {
  const named = resolve(folder, name);
  const found = await stat(named).catch(() => undefined);
  if (found?.isDirectory()) return { named, real: await realpath(named) };
  throw failure('bad_root', { name, root: named });
}

/** By segments: `/data-old` is not inside `/data`, and `..x` is a name like any other. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * The path with every symbolic link of what exists of it resolved. A link that leads nowhere is
 * refused: a write to it would create what it names.
 */
async function realPathOf(path: string, shown: string): Promise<string> {
  const missing: string[] = [];
  for (let existing = path; ; existing = dirname(existing)) {
    try {
      return join(await realpath(existing), ...missing);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw fileFailure(error, shown);
      if (await isThere(existing)) throw failure('dangling_symlink', { path: shown });
      missing.unshift(basename(existing));
    }
  }
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
