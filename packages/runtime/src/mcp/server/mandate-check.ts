// The agent checks the mandate of every call by itself, against the public keys of the gateway's realm:
// who reaches the port, and even who has the key of the agent, gets no further without one.

import { assignedOrigin, FabricError, fromMandateCarriers, type Origin } from '@starloom/core';
import { createJwks, ReplayMemory, verifyMandate } from '@starloom/identity';

export interface MandateRule {
  /** Address of the public keys, such as http://127.0.0.1:7420/.well-known/jwks.json. */
  readonly jwks: string;
  /** `issuer` of that document. */
  readonly issuer: string;
  /** The id of the agent in `agents.yaml`; its name by default. */
  readonly audience?: string | undefined;
}

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
    if (token === undefined) throw missingMandate(audience);
    const { traceId, depth } = await verifyMandate(token, { jwks, issuer, audience, replay });
    return { mandated: assignedOrigin(traceId, depth), mandate: token };
  };
}

function missingMandate(audience: string): FabricError {
  return new FabricError('AUTH_DENIED', 'The call has no mandate', {
    details: {
      reason: 'missing',
      fix: `set auth.mandate of the agent "${audience}" in agents.yaml, and call the gateway`,
    },
  });
}
