import { z } from 'zod';

export const modelShape = {
  model: z.string().min(1).optional().describe('Model; a capability may name another one in tool'),
  system: z.string().optional().describe('Instructions before the task'),
  body: z
    .record(z.string(), z.json())
    .default({})
    .describe('Other fields of each request, such as temperature'),
};

export interface ModelOptions {
  readonly model?: string | undefined;
  readonly system?: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}
