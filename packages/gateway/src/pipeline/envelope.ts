// Builds the canonical envelope of one attempt from who calls, what it asks and whom it asks.

import type { Auth, Capability, Envelope, Hop, Trace } from '@starloom/core';
import type { CallRequest } from './call-request.ts';

export interface EnvelopeParts {
  readonly auth: Auth;
  readonly trace: Trace;
  readonly hop: Hop;
  readonly agentId: string;
  readonly capability: Capability;
  /** Arguments that fit the capability. */
  readonly input: Envelope['input'];
  readonly stream: boolean;
  readonly timeoutMs: number;
  readonly deadlineMs: number;
}

export function buildEnvelope(request: CallRequest, parts: EnvelopeParts): Envelope {
  const { auth, trace, hop, agentId, capability, input, stream } = parts;
  return {
    trace,
    auth,
    target: {
      agent_id: agentId,
      capability: capability.name,
      timeout_ms: Math.max(1, Math.ceil(parts.timeoutMs)),
      deadline_ms: Math.max(1, Math.ceil(parts.deadlineMs)),
    },
    input,
    response: { stream, format: request.format },
    hop,
    ...(request.sessionId && { session_id: request.sessionId }),
    ...(request.idempotencyKey && { idempotency_key: request.idempotencyKey }),
  };
}

/** What the caller gave, before it is fitted to a capability. */
export function toInput(request: CallRequest): Envelope['input'] {
  return {
    task: request.task,
    ...(request.arguments && { arguments: request.arguments }),
    context: request.context,
    attachments: request.attachments,
  };
}
