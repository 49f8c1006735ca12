import type { Dirent } from 'node:fs';
import { defineTool, type ITool } from '@starloom/sdk';
import { fileFailure } from '@starloom/wire/files';
import { z } from 'zod';
import type { FsTools } from './fs-tools.ts';
import { walk } from './walk.ts';

const parameters = z.strictObject({
  path: z.string().default('.').describe('The folder, relative to the root'),
  depth: z.int().min(1).max(10).default(1).describe('How many levels of folders'),
});

const MAX_LISTED = 1_000;

export function listTool({ roots }: FsTools): ITool {
  return defineTool({
    name: 'fs:list',
    description: 'Lists a folder, one path a line; folders end in "/", links in "@".',
    command: 'list',
    effect: 'read',
    parameters,
    async execute({ path, depth }, { signal }) {
      const folder = await roots.locate(path);
      const lines: string[] = [];
      try {
        for await (const found of walk(roots, folder, depth, signal)) {
          if (lines.length >= MAX_LISTED) return [...lines, CUT].join('\n');
          lines.push(roots.show(found.path) + markOf(found.entry));
        }
      } catch (error) {
        throw fileFailure(error, path);
      }
      return lines.length === 0 ? '(empty)' : lines.join('\n');
    },
  });
}

const CUT = `(only the first ${MAX_LISTED} are shown; list a folder further down)`;

function markOf(entry: Dirent): string {
  if (entry.isDirectory()) return '/';
  if (entry.isSymbolicLink()) return '@';
  return entry.isFile() ? '' : ' (special)';
}
