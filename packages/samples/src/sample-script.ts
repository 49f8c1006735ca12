import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Script {
  readonly command: string;
  readonly args: string[];
}

/** How a sample's `main` is started: from source where this file is source, else as it was built. */
export function sampleScript(name: string, ...args: readonly string[]): Script {
  const ending = extname(import.meta.filename);
  const path = fileURLToPath(new URL(`./${name}/main${ending}`, import.meta.url));
  const conditions = ending === '.ts' ? ['--conditions=@starloom/source'] : [];
  return { command: process.execPath, args: [...conditions, path, ...args] };
}
