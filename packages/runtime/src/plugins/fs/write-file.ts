import { FabricError } from '@starloom/core';
import { defineTool, type ITool } from '@starloom/sdk';
import { fileFailure, replaceFile } from '@starloom/wire/files';
import { z } from 'zod';
import type { FsTools } from './fs-tools.ts';

const parameters = z.strictObject({
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
    parameters,
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
