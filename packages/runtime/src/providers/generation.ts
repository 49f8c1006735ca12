import { z } from 'zod';

/** What may be said to any model about how it answers. */
export const generationShape = {
  temperature: z.number().min(0).exactOptional(),
  max_tokens: z.int().min(1).exactOptional().describe('Longest answer, in tokens'),
};
