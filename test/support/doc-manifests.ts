import { readFileSync } from 'node:fs';
import { type ManifestInput, manifestSchema } from '@starloom/core';
import { parse } from 'yaml';
import { codeBlocks } from './code-blocks.ts';

const PAGE = new URL('../../docs/agents-of-every-protocol.md', import.meta.url);

/** The manifests that a section of `docs/agents-of-every-protocol.md` shows, in order. */
export function manifestsIn(section: string): readonly ManifestInput[] {
  const text = readFileSync(PAGE, 'utf8').split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '';
  const shown = codeBlocks(text).filter(({ language }) => language === 'yaml');
  const manifests = shown.flatMap(({ code }) => parse(code) as ManifestInput[]);
  for (const manifest of manifests) manifestSchema.parse(manifest);
  return manifests;
}
