// `auth.oauth` of `starloom.yaml`: the gateway as an OAuth 2.1 resource server.

import { secret } from '@starloom/config';
import { trustTierSchema } from '@starloom/core';
import { isSecure, SIGNATURE_ALGORITHMS } from '@starloom/identity';
import { z } from 'zod';
import { ownScopeSchema, refuseSame, scopesSchema } from './config-rules.ts';

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

// `listen.tls` and `auth.mtls` of `starloom.yaml`: encryption, and client certificates as credentials.

export const tlsSchema = z
  .strictObject({
    certificate: secret({ isPublic: true }).describe(
      'PEM of the certificate and its chain, as file:PATH',
    ),
    key: secret().describe('PEM of its private key, as file:PATH'),
    client_ca: secret({ isPublic: true })
      .optional()
      .describe('PEM of the CA of client certificates, as file:PATH'),
    client_crl: secret().optional().describe('PEM of the revocation list of that CA, as file:PATH'),
    client_certificates: z
      .enum(['none', 'optional', 'required'])
      .default('none')
      .describe('Whether clients are asked for a certificate when they connect'),
  })
  .refine((tls) => tls.client_certificates === 'none' || tls.client_ca !== undefined, {
    path: ['client_ca'],
    error: 'is needed to verify client certificates',
    params: { fix: 'name the CA that issues them' },
  })
  .optional()
  .describe('Encrypts everything on this port; files are read again when they change');

const pattern = z.string().min(1).max(500);

const ruleSchema = z
  .strictObject({
    spiffe: pattern
      .startsWith('spiffe://')
      .optional()
      .describe('The SPIFFE id; * stands for one segment or a part of it'),
    san: pattern
      .regex(/^(?:URI|DNS|email|IP Address):/, {
        error: 'expected DNS:…, URI:…, email:… or IP Address:…',
      })
      .optional()
      .describe('A subject alternative name with its kind, such as DNS:*.agents.example'),
    subject: pattern.optional().describe('The common name of the subject'),
    principal: z.string().min(1).describe('Who a caller with such a certificate is'),
    tier: trustTierSchema.default('org').describe('How far such a caller is trusted'),
    scopes: scopesSchema,
  })
  .refine(({ spiffe, san, subject }) => [spiffe, san, subject].filter(Boolean).length === 1, {
    error: 'needs one of spiffe, san and subject',
    params: { fix: 'name the certificate in one way' },
  });

export const mtlsSchema = z
  .array(ruleSchema)
  .default([])
  .describe('Callers by their client certificate; the first rule that fits counts');
