import { z } from 'zod';

export const oauthOptionsSchema = z.strictObject({
  grant: z
    .enum(['client_credentials', 'authorization_code'])
    .default('client_credentials')
    .describe('authorization_code: a person logs in by `starloom agents login`'),
  client_id: z
    .string()
    .min(1)
    .optional()
    .describe('Of the gateway at the authorization server; a login without one registers it there'),
  client_secret: z.string().min(1).optional().describe('env:NAME or file:PATH'),
  issuer: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Authorization server, when it is not on the origin of endpoint.uri'),
  scope: z
    .string()
    .min(1)
    .max(2_000)
    .optional()
    .describe('Scopes to ask for; default: those the agent names'),
  redirect_port: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Port of the redirect address, where the server allows only one'),
  timeout_ms: z.int().positive().default(10_000).describe('Bounds each request for a token'),
});

export type OauthOptions = z.infer<typeof oauthOptionsSchema>;
