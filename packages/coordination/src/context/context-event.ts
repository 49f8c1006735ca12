import { z } from 'zod';
import type { StoredEvent } from '../coordination-store.ts';
import { typeOf } from '../feed/log-event.ts';
import { jsonObjectSchema } from '../json/json.ts';
import { UPDATE_OPERATIONS } from './context-operations.ts';

export const CONTEXT_UPDATE = 'context.update';

/** An update of the context as it stands in the log of its session. */
export const contextEventSchema = z.object({
  type: z.literal(CONTEXT_UPDATE),
  agent_id: z.string(),
  op: z.enum(UPDATE_OPERATIONS),
  /** New values by key; for `increment` the amounts. */
  update: jsonObjectSchema,
  removed: z.array(z.string()).default([]),
  lock_token: z.number().optional(),
  cause: z.string().optional(),
  trace_id: z.string().optional(),
});
export type ContextEvent = z.infer<typeof contextEventSchema>;

export function isContextUpdate({ event }: StoredEvent): boolean {
  return typeOf(event) === CONTEXT_UPDATE;
}
