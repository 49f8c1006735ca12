// `policy-tests.yaml`: calls, and what the rules are expected to decide on them.

import { agentIdSchema, capabilityNameSchema, FabricError, trustTierSchema } from '@starloom/core';
import { findPrincipal, type GatewayConfig } from '@starloom/gateway/config';
import type { Delegation, PolicyAgent, PolicyCall, Principal } from '@starloom/identity';
import { EFFECTS } from '@starloom/identity/policy';
import { z } from 'zod';

const callerSchema = z.strictObject({
  id: z.string().min(1),
  mode: z.enum(['psk', 'passport', 'mtls', 'none']).default('psk'),
  tier: trustTierSchema.default('org'),
  scopes: z.array(z.string()).default(['*']),
  key_id: z.string().optional(),
  delegate: z.string().optional().describe('Who acts for the caller'),
});

const agentSchema = z.strictObject({
  id: agentIdSchema,
  node: z.string().min(1).default('local'),
  version: z.string().min(1).default('0.0.0'),
  tags: z.array(z.string()).default([]),
  trust_tier: trustTierSchema.default('public'),
  min_tier: trustTierSchema.optional(),
});

export const fixturesSchema = z.array(
  z.strictObject({
    name: z.string().min(1).describe('What is expected, as a sentence'),
    caller: z.union([z.string(), callerSchema]).describe('A principal of auth.psk, or its facts'),
    agent: z.union([agentIdSchema, agentSchema]).describe('An agent of the registry, or its facts'),
    capability: capabilityNameSchema,
    depth: z.int().min(1).default(1),
    time: z.iso.datetime({ offset: true }).optional().describe('Now, unless given'),
    origin_tier: trustTierSchema.optional().describe('Lowest tier of the chain'),
    expect: z.strictObject({
      effect: z.enum(EFFECTS),
      rule: z.string().optional().describe('Which rule decides; default, min_tier and scopes too'),
      visible: z.boolean().optional().describe('Whether the caller sees the capability at all'),
    }),
  }),
);

export type Fixture = z.output<typeof fixturesSchema>[number];

/** `local` stands for the key that `starloom up` makes. */
export function toPrincipal({ caller, name }: Fixture, { auth }: GatewayConfig): Principal {
  if (typeof caller === 'string') return findPrincipal(auth, caller) ?? unknown(name, caller);
  const { id, mode, tier, scopes, key_id, delegate } = caller;
  return {
    ...named(id, delegate),
    mode,
    tier,
    scopes,
    keyId: key_id ?? null,
  };
}

/** A principal with its delegate, as rules see both. */
export function named(principalId: string, delegateId: string | undefined) {
  if (delegateId === undefined) return { id: principalId };
  const delegation = { principalId, delegateId } as Delegation;
  return { id: `${principalId}/${delegateId}`, delegation };
}

export function toAgent(facts: z.output<typeof agentSchema>): PolicyAgent {
  const { id: agent_id, node: node_id, min_tier, ...rest } = facts;
  const auth = min_tier && { mandate: false, min_tier };
  return { agent_id, node_id, ...rest, ...(auth && { auth }) };
}

export function toCall(fixture: Fixture, { tier }: Principal, now: number): PolicyCall {
  const { depth, time, origin_tier } = fixture;
  const at = time === undefined ? now : Date.parse(time);
  return { depth, time: at, originTier: origin_tier ?? tier };
}

function unknown(name: string, caller: string): never {
  throw new FabricError('BAD_INPUT', `Test "${name}": no key has the principal "${caller}"`, {
    details: { reason: 'config', fix: 'write the caller as {id, tier, scopes}' },
  });
}
