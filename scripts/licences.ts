import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { OutputChunk } from 'rolldown';

/** Of every library whose code is in the bundle. */
export async function licencesOf(chunks: readonly OutputChunk[]): Promise<string> {
  const folders = new Set(
    chunks
      .flatMap(({ moduleIds }) => moduleIds)
      .map((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0])
      .filter((folder) => folder !== undefined)
      .filter((folder) => !dirname(folder).endsWith('@starloom')),
  );
  const texts = [...folders].sort().map(async (folder) => {
    const { name, version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    return `${name} ${version}\n\n${await licenceIn(folder)}`;
  });
  return (await Promise.all(texts)).join(`\n\n${'-'.repeat(80)}\n\n`);
}

async function licenceIn(folder: string): Promise<string> {
  for (const name of ['LICENSE', 'LICENSE.md', 'LICENCE', 'license', 'LICENSE.txt']) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => undefined);
    if (text !== undefined) return text.trim();
  }
  throw new Error(`${folder} has no license file`);
}
