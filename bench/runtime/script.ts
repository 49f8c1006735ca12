// What the model says in every loop, and what is asked of it. Nothing here takes time: what is left of
// a turn is the loop's own.

import { z } from 'zod';

export const QUESTION = 'Which boats are in the harbour this morning?';
export const ANSWER = 'The Aurora and the Halcyon are in; the Petrel left with the tide at six.';
export const SYSTEM_PROMPT = 'You answer questions about the harbour.';

export const TOOL = {
  /** Of a form that every loop takes. */
  name: 'harbour_boats',
  description: 'The boats that lie in the harbour',
  parameters: z.object({ day: z.string(), limit: z.int().positive().optional() }),
  args: { day: 'today', limit: 3 },
  run: ({ day }: { day: string }): string => `${day}: Aurora, Halcyon`,
} as const;
