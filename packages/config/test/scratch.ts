import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import { type LoadConfigOptions, loadConfig } from '../src/load-config.ts';
import { type Problem, problemsOf } from '../src/problem.ts';

export interface Scratch extends AsyncDisposable {
  readonly folder: string;
}

/** A folder of its own with these files in it; gone when the test ends. */
export async function scratch(
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<Scratch> {
  const folder = await mkdtemp(join(tmpdir(), 'starloom-config-'));
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(folder, name), content, { mode: 0o600 });
  }
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

type Options<S extends z.ZodType> = Partial<LoadConfigOptions<S>> & { readonly schema: S };

/** Loads one text as a file of that name. */
export async function load<S extends z.ZodType>(
  name: string,
  text: string | Uint8Array,
  options: Options<S>,
) {
  await using place = await scratch({ [name]: text });
  return await loadConfig({ path: name, cwd: place.folder, ...options });
}

/** The problems that loading this text reports; fails when it loads. */
export async function problemsIn<S extends z.ZodType>(
  name: string,
  text: string | Uint8Array,
  options: Options<S>,
): Promise<readonly Problem[]> {
  return await problemsFrom(load(name, text, options));
}

export async function problemsFrom(loading: Promise<unknown>): Promise<readonly Problem[]> {
  const error = await loading.then(
    () => new Error('It loaded'),
    (reason: unknown) => reason,
  );
  const problems = problemsOf(error);
  if (problems === undefined) throw error;
  return problems;
}
