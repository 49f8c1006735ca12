import { basename } from 'node:path';
import { defineTool, type ITool } from '@starloom/sdk';
import { fileFailure, type Roots, readText } from '@starloom/wire/files';
import { z } from 'zod';
import type { FsTools } from './fs-tools.ts';
import { walk } from './walk.ts';

const parameters = z.strictObject({
  text: z.string().min(1).describe('The text to look for, as it stands, within one line'),
  path: z.string().default('.').describe('The folder or file to look in'),
  files: z.string().optional().describe('Only files with such names: * and ? as in *.ts'),
  ignore_case: z.boolean().default(false),
});

const MAX_DEPTH = 40;
const MAX_FOUND = 200;
const MAX_SHOWN = 300;

export function searchTool({ roots, maxBytes }: FsTools): ITool {
  return defineTool({
    name: 'fs:search',
    description:
      'Finds a text in files, as path:line: text. Files that are no text are passed over.',
    command: 'search',
    effect: 'read',
    parameters,
    async execute({ text, path, files, ignore_case }, { signal }) {
      const fold = (line: string) => (ignore_case ? line.toLowerCase() : line);
      const wanted = fold(text);
      const found: string[] = [];
      for await (const file of filesIn(roots, await roots.locate(path), path, signal)) {
        if (files && !matchesWildcards(basename(file), files)) continue;
        const content = await readText(roots, file, maxBytes).catch(() => undefined);
        if (!content || !fold(content.text).includes(wanted)) continue;
        for (const [index, line] of content.text.split('\n').entries()) {
          if (!fold(line).includes(wanted)) continue;
          if (found.length >= MAX_FOUND) return [...found, CUT].join('\n');
          found.push(`${roots.show(file)}:${index + 1}: ${line.trim().slice(0, MAX_SHOWN)}`);
        }
      }
      return found.length === 0 ? '(nothing found)' : found.join('\n');
    },
  });
}

const CUT = `(only the first ${MAX_FOUND} are shown; look for a longer text)`;

async function* filesIn(
  roots: Roots,
  path: string,
  given: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  try {
    for await (const found of walk(roots, path, MAX_DEPTH, signal)) {
      if (found.entry.isFile()) yield found.path;
    }
  } catch (error) {
    const failure = fileFailure(error, given);
    if (failure.details.reason !== 'not_a_folder') throw failure;
    yield path;
  }
}

/** `*` is any text, `?` any character. Without a regular expression, so no pattern takes long. */
export function matchesWildcards(name: string, pattern: string): boolean {
  let at = 0;
  let wanted = 0;
  let star = -1;
  let resumeAt = 0;
  while (at < name.length) {
    if (pattern[wanted] === '*') {
      star = wanted;
      resumeAt = at;
      wanted += 1;
    } else if (pattern[wanted] === '?' || pattern[wanted] === name[at]) {
      at += 1;
      wanted += 1;
    } else if (star >= 0) {
      resumeAt += 1;
      at = resumeAt;
      wanted = star + 1;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(wanted));
}
