// An event of a session's log as clients see it, pushed or read. Stores know holders and tokens;
// the contract knows agents, their epochs, and lock tokens.

import type { JsonObject } from '@starloom/core';
import { fromHolder } from '../agents/caller.ts';
import type { StoredEvent } from '../coordination-store.ts';
import { fieldsOf } from './log-event.ts';

export function toSessionEvent({ event }: StoredEvent): JsonObject {
  const fields = fieldsOf(event);
  if (typeof fields.holder !== 'string') return fields;
  const { holder, token = 0, ...rest } = fields;
  const { agentId, epoch } = fromHolder(fields.holder);
  const isBySomebodyElse = rest.agent_id !== undefined;
  const named = isBySomebodyElse ? { holder: agentId } : { agent_id: agentId, epoch };
  return { ...rest, ...named, lock_token: token };
}
