import { readFile, writeFile } from 'node:fs/promises';
import { FabricError } from '@starloom/core';

export const DOCS = new URL('../docs/benchmarks.md', import.meta.url);

const BEGIN = '<!-- figures: written by "npm run bench -- --write-docs" -->';
const END = '<!-- end of figures -->';

/** Puts the figures of this run in place of the last ones. */
export async function writeDocs(figures: string, file: URL | string = DOCS): Promise<void> {
  const text = await readFile(file, 'utf8');
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END, begin);
  if (begin < 0 || end < 0) {
    throw new FabricError('BAD_INPUT', 'The page has no place for the figures', {
      details: { file: String(file), fix: `write "${BEGIN}" and "${END}" into it` },
    });
  }
  const before = text.slice(0, begin + BEGIN.length);
  await writeFile(file, `${before}\n\n${figures}\n\n${text.slice(end)}`);
}
