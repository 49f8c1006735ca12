// Builds the canonical envelope of a call from who calls, its place in the trace and what it asks.

import type { Auth, Envelope } from '@starloom/core';
import type { CallRequest } from './call-request.ts';
import type { GuardedCall } from './guard.ts';

export function buildEnvelope(
  request: CallRequest,
  agentId: string,
  auth: Auth,
  { trace, hop }: GuardedCall,
): Envelope {
  return {
    trace,
    auth,
    target: {
      agent_id: agentId,
      capability: request.capability,
      timeout_ms: request.timeoutMs,
      deadline_ms: request.deadlineMs,
    },
    input: {
      task: request.task,
      ...(request.arguments && { arguments: request.arguments }),
      context: request.context,
      attachments: request.attachments,
      ...(request.relay && { relay: request.relay }),
    },
    response: { stream: request.stream, format: request.format },
    hop,
    ...(request.sessionId && { session_id: request.sessionId }),
    ...(request.idempotencyKey && { idempotency_key: request.idempotencyKey }),
  };
}
