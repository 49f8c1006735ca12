import { z } from 'zod';
import { pointerSchema } from '../json-pointer.ts';
import { treeSchema } from '../template/placeholders.ts';

export const langGraphShape = {
  assistant: z.string().min(1).optional().describe('Assistant of all capabilities without a tool'),
  input: treeSchema.optional().describe('State that a run begins with, with places for values'),
  answer: pointerSchema.optional().describe('Where the answer stands in the state'),
  config: z.record(z.string(), z.json()).optional().describe('Configuration of each run'),
};

export interface LangGraphOptions {
  readonly assistant?: string | undefined;
  readonly input?: unknown;
  readonly answer?: string | undefined;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}
