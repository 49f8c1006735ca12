import { definePlugin } from '@starloom/sdk';
import { Roots } from '@starloom/wire/files';
import { z } from 'zod';
import { TurnsByKey } from '../turns.ts';
import { listTool } from './list-folder.ts';
import { readFileTool } from './read-file.ts';
import { searchTool } from './search-files.ts';
import { editFileTool, writeFileTool } from './write-file.ts';

export const fsConfigSchema = z.strictObject({
  roots: z.array(z.string().min(1)).min(1).default(['.']).describe('The only folders it may use'),
  read_only: z.boolean().default(false),
  max_bytes: z.int().positive().max(67_108_864).default(1_048_576).describe('Of one file'),
});

/** Files below named folders. */
export default definePlugin({
  name: 'fs',
  config: fsConfigSchema,
  async setup({ roots, read_only, max_bytes }, { folder }) {
    const tools = {
      roots: await Roots.open(roots, folder),
      maxBytes: max_bytes,
      turns: new TurnsByKey(),
    };
    const reading = [readFileTool(tools), listTool(tools), searchTool(tools)];
    const writing = [writeFileTool(tools), editFileTool(tools)];
    return { tools: read_only ? reading : [...reading, ...writing] };
  },
});
