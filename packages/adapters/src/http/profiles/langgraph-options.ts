import { z } from 'zod';
import { pointerSchema } from '../json-pointer.ts';
import { treeSchema } from '../template/placeholders.ts';

export const langGraphShape = {
  assistant: z.string().min(1).optional().describe('Assistant of capabilities without a tool'),
  input: treeSchema.optional().describe('First state of a run, with places; default: messages'),
  answer: pointerSchema.optional().describe('Pointer to the answer; default: the last message'),
  config: z.record(z.string(), z.json()).optional().describe('Configuration of each run'),
};

export interface LangGraphOptions {
  readonly assistant?: string | undefined;
  readonly input?: unknown;
  readonly answer?: string | undefined;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}
