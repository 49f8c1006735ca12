import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FabricError } from '@starloom/core';
import { definePlugin } from '@starloom/sdk';
import { z } from 'zod';
import { authorSchema, commitTool } from './commit.ts';
import { Git } from './git.ts';
import { readingTools } from './reading.ts';

export const gitConfigSchema = z.strictObject({
  folder: z.string().min(1).default('.').describe('The top folder of the repository'),
  read_only: z.boolean().default(false).describe('No commits'),
  author: authorSchema.optional().describe("Whose commits they are; git's user by default"),
  timeout_ms: z.int().positive().default(30_000),
  max_bytes: z.int().positive().default(262_144).describe('Of what is shown'),
});

/** One repository: looking at it, and commits. */
export default definePlugin({
  name: 'git',
  config: gitConfigSchema,
  async setup({ folder, read_only, author, timeout_ms, max_bytes }, host) {
    const git = new Git({
      folder: await openFolder(resolve(host.folder, folder)),
      timeoutMs: timeout_ms,
      maxBytes: max_bytes,
    });
    const reading = readingTools(git);
    return { tools: read_only ? reading : [...reading, commitTool(git, author)] };
  },
});

async function openFolder(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (cause) {
    throw new FabricError('BAD_INPUT', 'The folder of the git plugin is not there', {
      details: { reason: 'bad_folder', folder, fix: 'set "folder" to the top of a repository' },
      cause,
    });
  }
}
