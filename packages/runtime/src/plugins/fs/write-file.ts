import { FabricError } from '@starloom/core';
import { defineTool, type ITool } from '@starloom/sdk';
import { fileFailure, readText, replaceFile } from '@starloom/wire/files';
import { z } from 'zod';
import type { FsTools } from './fs-tools.ts';

const writeSchema = z.strictObject({
  path: z.string().describe('The file, relative to the root; folders are made as needed'),
  content: z.string().describe('The whole new content'),
});

export function writeFileTool({ roots, maxBytes, turns }: FsTools): ITool {
  return defineTool({
    name: 'fs:write_file',
    description: 'Writes a text file: a new one, or in place of the one that is there.',
    command: 'write',
    effect: 'act',
    targets: ['path'],
    untrusted: false,
    parameters: writeSchema,
    async execute({ path: given, content }) {
      assertFits(content, maxBytes);
      const path = await roots.locate(given);
      const created = await turns
        .take(path, () => replaceFile(roots, { path, content }))
        .catch((error: unknown) => Promise.reject(fileFailure(error, given)));
      return { path: roots.show(path), bytes: Buffer.byteLength(content), created };
    },
  });
}

export function assertFits(content: string, limit: number): void {
  const bytes = Buffer.byteLength(content);
  if (bytes <= limit) return;
  throw new FabricError('BAD_INPUT', `The content is larger than ${limit} bytes`, {
    details: { reason: 'content_too_large', bytes, limit, fix: 'write less, or raise max_bytes' },
  });
}

const editSchema = z.strictObject({
  path: z.string().describe('The file, relative to the root'),
  old_text: z.string().min(1).describe('What stands there now, exactly, with its line ends'),
  new_text: z.string().describe('What shall stand there'),
  all: z.boolean().default(false).describe('Every occurrence; otherwise there must be just one'),
});

export function editFileTool({ roots, maxBytes, turns }: FsTools): ITool {
  return defineTool({
    name: 'fs:edit_file',
    description: 'Replaces a piece of a text file by another.',
    command: 'edit',
    effect: 'act',
    targets: ['path'],
    untrusted: false,
    parameters: editSchema,
    async execute({ path: given, old_text, new_text, all }) {
      const edit = async () => {
        const { path, text, stats } = await readText(roots, given, maxBytes);
        const pieces = text.split(old_text);
        const occurrences = pieces.length - 1;
        assertFound(occurrences, all, given);
        const content = pieces.join(new_text);
        assertFits(content, maxBytes);
        await replaceFile(roots, { path, content, before: stats });
        return { path: roots.show(path), replaced: occurrences };
      };
      const path = await roots.locate(given);
      return await turns
        .take(path, edit)
        .catch((error: unknown) => Promise.reject(fileFailure(error, given)));
    },
  });
}

function assertFound(occurrences: number, all: boolean, path: string): void {
  if (occurrences === 1 || (all && occurrences > 1)) return;
  const details =
    occurrences === 0
      ? { reason: 'text_not_found', fix: 'read the file and copy the text exactly' }
      : { reason: 'text_not_unique', fix: 'give more of the text around it, or set all' };
  throw new FabricError('BAD_INPUT', `The text stands ${occurrences} times in the file`, {
    details: { ...details, occurrences, path },
  });
}
