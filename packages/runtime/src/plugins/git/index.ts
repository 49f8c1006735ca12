import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { definePlugin } from '@starloom/sdk';
import { isInside } from '@starloom/wire/files';
import { z } from 'zod';
import { failure } from '../../reasons.ts';
import { authorSchema, commitTool } from './commit.ts';
import { Git } from './git.ts';
import { readingTools } from './reading.ts';

const gitConfigSchema = z.strictObject({
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
      folder: await repositoryFor(await openFolder(resolve(host.folder, folder)), host.workspace),
      timeoutMs: timeout_ms,
      maxBytes: max_bytes,
    });
    const reading = readingTools(git);
    return { tools: read_only ? reading : [...reading, commitTool(git, author)] };
  },
});

/** The repository that an editor has open, where it lies below the folder of the plugin. */
async function repositoryFor(folder: string, workspace: string | undefined): Promise<string> {
  const open = workspace && (await realpath(workspace).catch(() => undefined));
  return open && isInside(folder, open) && existsSync(join(open, '.git')) ? open : folder;
}

async function openFolder(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (cause) {
    throw failure('bad_folder', { folder }, { cause });
  }
}
