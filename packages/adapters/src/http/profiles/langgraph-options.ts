import { z } from 'zod';
import { pointerSchema } from '../json-pointer.ts';
import { treeSchema } from '../template/placeholders.ts';

export const langGraphShape = {
  assistant: z
    .string()
    .min(1)
    .optional()
    .describe('Assistant for capabilities that name none in tool'),
  input: treeSchema
    .optional()
    .describe('State that a run begins with, with places for values; default: messages'),
  answer: pointerSchema
    .optional()
    .describe('Pointer to the answer in the state; default: the last message'),
  config: z.record(z.string(), z.json()).optional().describe('Configuration of each run'),
};

export interface LangGraphOptions {
  readonly assistant?: string | undefined;
  readonly input?: unknown;
  readonly answer?: string | undefined;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}
