// `policy-tests.yaml`: calls, and what the rules are expected to decide on them.

import { agentIdSchema, capabilityNameSchema } from '@starloom/core';
import { findPrincipal, type GatewayConfig } from '@starloom/gateway/config';
import type { Principal } from '@starloom/identity';
import {
  EFFECTS,
  fromGivenPrincipal,
  givenAgentSchema,
  givenCallFields,
  givenPrincipalSchema,
} from '@starloom/identity/policy';
import { z } from 'zod';
import { failure } from '../reasons.ts';

export const fixturesSchema = z.array(
  z.strictObject({
    name: z.string().min(1).describe('What is expected, as a sentence'),
    caller: z
      .union([z.string(), givenPrincipalSchema])
      .describe('A principal of auth.psk, or its facts'),
    agent: z
      .union([agentIdSchema, givenAgentSchema])
      .describe('An agent of the registry, or its facts'),
    capability: capabilityNameSchema,
    ...givenCallFields,
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
  if (typeof caller === 'string') {
    const known = findPrincipal(auth, caller);
    if (known) return known;
    throw failure('config/caller', { test: name, caller });
  }
  return fromGivenPrincipal(caller);
}
