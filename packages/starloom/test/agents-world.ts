import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runStarloom, scratch } from './run-starloom.ts';

/** The reference server of the MCP project. */
export const EVERYTHING = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'),
);

/** A folder of its own, with no gateway. */
export async function openWorld(files: Record<string, string> = {}) {
  const place = await scratch(files);
  const env = { STARLOOM_HOME: join(place.folder, 'home') };
  return {
    folder: place.folder,
    run: (...args: string[]) => runStarloom(args, { cwd: place.folder, env }),
    agents: () => readFile(join(place.folder, 'agents.yaml'), 'utf8'),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}
