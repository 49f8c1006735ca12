// `auth.oauth` of `starloom.yaml`: the gateway as an OAuth 2.1 resource server.

import { trustTierSchema } from '@starloom/core';
import { isSecure, SIGNATURE_ALGORITHMS } from '@starloom/identity';
import { z } from 'zod';
import { ownScopeSchema, refuseSame } from './config-rules.ts';

const TYPES = ['at+jwt', 'jwt', 'none'] as const;

const secureUrl = z.url({ protocol: /^https?$/ }).refine(isSecure, {
  error: 'must be https, or http on this machine',
  params: { fix: 'write its https address' },
});

const issuerSchema = z.strictObject({
  issuer: secureUrl.describe('Of the authorization server, exactly as in the claim iss'),
  jwks_uri: secureUrl
    .optional()
    .describe('Where its public keys are; by default its metadata says so'),
  audience: z
    .string()
    .min(1)
    .optional()
    .describe('The claim aud, where it is not auth.oauth.resource or its /mcp'),
  algorithms: z
    .array(z.enum(SIGNATURE_ALGORITHMS))
    .min(1)
    .default(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'])
    .describe('Accepted signatures'),
  types: z
    .array(z.enum(TYPES))
    .min(1)
    .default(['at+jwt', 'jwt'])
    .describe('Accepted header typ, ignoring case; none takes tokens without one'),
  principal_claim: z.string().min(1).default('sub').describe('The claim that names the caller'),
  tier: trustTierSchema.default('org').describe('How far such a caller is trusted'),
  scopes: z
    .record(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/), z.array(ownScopeSchema))
    .refine((scopes) => Object.keys(scopes).length > 0, {
      error: 'must name a scope of the token',
      params: { fix: 'map one, such as agents: ["toolset:agents"]' },
    })
    .describe('By scope of the token: what it allows, as scopes of auth.psk'),
});

export const oauthSchema = z
  .strictObject({
    resource: secureUrl
      .refine((url) => !/[?#]/.test(url) && !/\/mcp\/?$/.test(url), {
        error: 'is the address of the gateway, without /mcp, query and fragment',
        params: { fix: 'write it as clients reach it, such as https://gateway.example' },
      })
      .describe('Where clients reach the gateway: what their tokens must be for'),
    issuers: z
      .array(issuerSchema)
      .min(1)
      .superRefine(refuseSame('issuer', 'issuer'))
      .describe('Authorization servers whose access tokens are accepted'),
  })
  .optional()
  .describe('Access tokens of OAuth 2.1 authorization servers, as "Authorization: Bearer <token>"');
