import { z } from 'zod';

export const oauthOptionsSchema = z.strictObject({
  grant: z
    .enum(['client_credentials', 'authorization_code', 'jwt_bearer'])
    .default('client_credentials')
    .describe(
      'authorization_code: a person runs `starloom agents login`; jwt_bearer: uses assertion_file',
    ),
  client_id: z
    .string()
    .min(1)
    .optional()
    .describe('Id at the authorization server; a login without one registers the gateway'),
  client_secret: z.string().min(1).optional().describe('As env:NAME or file:PATH'),
  private_key: z
    .string()
    .min(1)
    .optional()
    .describe('PEM, as env:NAME or file:PATH; signs JWTs in place of client_secret'),
  issuer: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Authorization server, if it is not on the origin of endpoint.uri'),
  scope: z
    .string()
    .min(1)
    .max(2_000)
    .optional()
    .describe('Scopes to request; default: those that the agent names'),
  dpop: z
    .boolean()
    .optional()
    .describe('Tokens bound to a key (RFC 9449); default: as the agent asks'),
  assertion_file: z
    .string()
    .regex(/^(?:\/|[A-Za-z]:[\\/])/, 'must be an absolute path')
    .optional()
    .describe('Absolute path of the JWT of a workload, or the ID token of a person'),
  idp_token_endpoint: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Identity provider that exchanges the ID token for a grant (ID-JAG)'),
  idp_client_id: z.string().min(1).optional().describe('Id at the identity provider'),
  idp_client_secret: z.string().min(1).optional().describe('As env:NAME or file:PATH'),
  redirect_port: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Port of the redirect address; default: any'),
  timeout_ms: z.int().positive().default(10_000).describe('Time limit of each request'),
});

export type OauthOptions = z.infer<typeof oauthOptionsSchema>;

/** Options that hold secrets: references in a file, values in an adapter. */
export const OAUTH_SECRETS = ['client_secret', 'private_key', 'idp_client_secret'] as const;
