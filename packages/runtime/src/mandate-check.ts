// The agent verifies the mandate of every call against the public keys of the gateway's realm. A client
// that reaches the port, and even one that has the key of the agent, is refused without a mandate.

import { assignedOrigin, fromMandateCarriers, type Origin } from '@starloom/core';
import { createJwks, ReplayMemory, verifyMandate } from '@starloom/identity';
import type { AgentFile } from './config/agent-file.ts';
import { failure } from './reasons.ts';

export type MandateRule = NonNullable<AgentFile['mcp']['mandate']>;

type Carrier = Readonly<Record<string, unknown>>;

export interface Mandated {
  /** Trace and least depth of the call. */
  readonly mandated: Origin;
  /** With which the agent may call on. */
  readonly mandate: string;
}

export type MandateCheck = (meta: Carrier | undefined, headers: Carrier) => Promise<Mandated>;

/** AUTH_DENIED for a call without a mandate that holds. */
export function createMandateCheck(rule: MandateRule, agentId: string): MandateCheck {
  const { issuer, audience = agentId } = rule;
  const jwks = createJwks(new URL(rule.jwks));
  const replay = new ReplayMemory();
  return async (meta, headers) => {
    const token = fromMandateCarriers(meta, headers);
    if (token === undefined) throw failure('missing', { audience });
    const { traceId, depth } = await verifyMandate(token, { jwks, issuer, audience, replay });
    return { mandated: assignedOrigin(traceId, depth), mandate: token };
  };
}
