// A folder that is built once and then reused by every run: environments and programs of other
// projects. It is built under a name of its own and renamed when complete, so a second process that
// builds at the same time, or one that is killed, never leaves a half-built folder behind.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Below `node_modules`: no tracked file, removed by `npm ci`. */
const CACHE = fileURLToPath(
  new URL('../../../node_modules/.cache/starloom-peers', import.meta.url),
);

export interface PreparedFolder {
  readonly name: string;
  /** Everything the content depends on; another value is another folder. */
  readonly madeFrom: readonly string[];
  readonly build: (folder: string) => Promise<void>;
  readonly cache?: string;
}

/** The path of the complete folder; rejects as `build` does. */
export async function prepareFolder(options: PreparedFolder): Promise<string> {
  const { name, madeFrom, build, cache = CACHE } = options;
  const hash = createHash('sha256').update(JSON.stringify(madeFrom)).digest('hex').slice(0, 16);
  const complete = join(cache, `${name}-${hash}`);
  if (existsSync(complete)) return complete;
  await mkdir(cache, { recursive: true });
  const building = await mkdtemp(join(cache, `${name}-building-`));
  try {
    await build(building);
    await rename(building, complete).catch(async (error: unknown) => {
      if (!existsSync(complete)) throw error;
    });
    return complete;
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}
