import { z } from 'zod';
import { programOptions } from '../upstream/program.ts';
import { PRESET_NAMES } from './presets.ts';

export const localProcessOptionsSchema = z.strictObject({
  ...programOptions,
  pooled: z.boolean().default(false).describe('One process for all calls, not one per call'),
  cwd: z.string().min(1).optional().describe('Folder it runs in; default: that of the gateway'),
  preset: z.enum(PRESET_NAMES).optional().describe('Runs a known command line in its JSON mode'),
});
