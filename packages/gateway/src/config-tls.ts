// `listen.tls` and `auth.mtls` of `starloom.yaml`: encryption, and client certificates as credentials.

import { secret } from '@starloom/config';
import { trustTierSchema } from '@starloom/core';
import { z } from 'zod';
import { scopesSchema } from './config-rules.ts';

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
