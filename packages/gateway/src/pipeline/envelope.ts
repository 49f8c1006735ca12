// Builds the canonical envelope of a call from who calls, its place in the trace and what it asks.

import {
  type Auth,
  DEFAULT_TIMEOUT_MS,
  defaultDeadlineMs,
  type Envelope,
  type GuardedCall,
} from '@starloom/core';
import type { CallRequest } from './call-request.ts';
import type { Candidate } from './route.ts';

export function buildEnvelope(
  request: CallRequest,
  { record, capability }: Candidate,
  auth: Auth,
  { trace, hop }: GuardedCall,
): Envelope {
  const timeoutMs = request.timeoutMs ?? capability.timeout_ms ?? DEFAULT_TIMEOUT_MS;
  return {
    trace,
    auth,
    target: {
      agent_id: record.manifest.agent_id,
      capability: capability.name,
      timeout_ms: timeoutMs,
      deadline_ms: request.deadlineMs ?? defaultDeadlineMs(timeoutMs),
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
