import { z } from 'zod';

export const oauthOptionsSchema = z.strictObject({
  grant: z
    .enum(['client_credentials', 'authorization_code', 'jwt_bearer'])
    .default('client_credentials')
    .describe(
      'authorization_code: a person logs in by `starloom agents login`; jwt_bearer: the JWT of assertion_file',
    ),
  client_id: z
    .string()
    .min(1)
    .optional()
    .describe('Of the gateway at the authorization server; a login without one registers it there'),
  client_secret: z.string().min(1).optional().describe('env:NAME or file:PATH'),
  private_key: z
    .string()
    .min(1)
    .optional()
    .describe('PEM, as env:NAME or file:PATH; signs JWTs that take the place of client_secret'),
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
  dpop: z
    .boolean()
    .optional()
    .describe('Tokens bound to a key of the gateway (RFC 9449); default: where the agent asks'),
  assertion_file: z
    .string()
    .regex(/^(?:\/|[A-Za-z]:[\\/])/, 'must be an absolute path')
    .optional()
    .describe(
      'JWT of jwt_bearer, read for every token: of the workload, or the ID token of a person',
    ),
  idp_token_endpoint: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Identity provider that exchanges the ID token for a grant (ID-JAG)'),
  idp_client_id: z.string().min(1).optional().describe('Of the gateway at the identity provider'),
  idp_client_secret: z.string().min(1).optional().describe('env:NAME or file:PATH'),
  redirect_port: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Port of the redirect address, where the server allows only one'),
  timeout_ms: z.int().positive().default(10_000).describe('Bounds each request for a token'),
});

export type OauthOptions = z.infer<typeof oauthOptionsSchema>;

/** Options that hold secrets: references in a file, values in an adapter. */
export const OAUTH_SECRETS = ['client_secret', 'private_key', 'idp_client_secret'] as const;
