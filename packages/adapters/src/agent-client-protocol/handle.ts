// What is kept of a session between calls. Sessions of most agents outlive their process; of the others
// the conversation lives in one process of one gateway, and the handle says which.

import { randomUUID } from 'node:crypto';
import { type AgentHandle, FabricError } from '@starloom/core';
import { z } from 'zod';

const handleSchema = z.object({ session_id: z.string(), process: z.string(), gateway: z.string() });

export type SessionHandle = z.infer<typeof handleSchema>;

/** Of this run of the gateway. */
const GATEWAY = randomUUID();

export function toHandle(sessionId: string, processId: string): AgentHandle {
  return { session_id: sessionId, process: processId, gateway: GATEWAY };
}

export function parseHandle(handle: AgentHandle): SessionHandle {
  const parsed = handleSchema.safeParse(handle);
  if (parsed.success) return parsed.data;
  throw unknownConversation();
}

/** The agent cannot take the session up again, and its process is not here. */
export function lostSession({ gateway }: SessionHandle): FabricError {
  const isOurs = gateway === GATEWAY;
  return new FabricError('AGENT_OFFLINE', 'The process that held the conversation is not here', {
    details: {
      reason: isOurs ? 'interrupted' : 'other_gateway',
      sent: false,
      fix: isOurs ? 'start a new conversation' : 'call the gateway that began the conversation',
    },
  });
}

/** The agent keeps sessions, and refused this one: gone, or kept on another machine. */
export function refusedSession(handle: SessionHandle, error: FabricError): FabricError {
  if (error.code !== 'BAD_INPUT' && error.code !== 'UPSTREAM_ERROR') return error;
  return handle.gateway === GATEWAY ? unknownConversation(error) : lostSession(handle);
}

function unknownConversation(cause?: FabricError): FabricError {
  return new FabricError('BAD_INPUT', 'The agent does not know this conversation', {
    details: {
      reason: 'unknown_conversation',
      sent: false,
      ...(cause?.details.upstream !== undefined && { upstream: cause.details.upstream }),
      fix: 'call without conversation_id',
    },
    cause,
  });
}
