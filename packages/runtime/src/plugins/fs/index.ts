import { definePlugin } from '@starloom/sdk';
import { Roots } from '@starloom/wire/files';
import { z } from 'zod';
import type { EditorHost } from '../../core/seams.ts';
import { TurnsByKey } from '../turns.ts';
import { listTool, readFileTool, searchTool } from './reading.ts';
import { editFileTool, writeFileTool } from './writing.ts';

const fsConfigSchema = z.strictObject({
  roots: z.array(z.string().min(1)).min(1).default(['.']).describe('The only folders it may use'),
  read_only: z.boolean().default(false),
  max_bytes: z.int().positive().max(67_108_864).default(1_048_576).describe('Of one file'),
});

/** Files below named folders. */
export default definePlugin({
  name: 'fs',
  config: fsConfigSchema,
  async setup({ roots, read_only, max_bytes }, host: EditorHost) {
    const { folder, workspace, editor } = host;
    const allowed = await Roots.open(roots, folder);
    const tools = {
      roots: await allowed.narrowTo(workspace),
      maxBytes: max_bytes,
      turns: new TurnsByKey(),
      editor,
    };
    const reading = [readFileTool(tools), listTool(tools), searchTool(tools)];
    const writing = [writeFileTool(tools), editFileTool(tools)];
    return { tools: read_only ? reading : [...reading, ...writing] };
  },
});
