import { readFile, writeFile } from 'node:fs/promises';
import { FabricError } from '@starloom/core';

export const DOCS = new URL('../docs/benchmarks.md', import.meta.url);

const END = '<!-- end of figures -->';

/** Puts the figures of a run of `npm run <command>` in place of the last ones. */
export async function writeDocs(
  command: string,
  figures: string,
  file: URL | string = DOCS,
): Promise<void> {
  const text = await readFile(file, 'utf8');
  const begin = `<!-- figures: written by "npm run ${command} -- --write-docs" -->`;
  const at = text.indexOf(begin);
  const end = text.indexOf(END, at);
  if (at < 0 || end < 0) {
    throw new FabricError('BAD_INPUT', 'The page has no place for the figures', {
      details: { file: String(file), fix: `write "${begin}" and "${END}" into it` },
    });
  }
  const before = text.slice(0, at + begin.length);
  await writeFile(file, `${before}\n\n${figures}\n\n${text.slice(end)}`);
}
