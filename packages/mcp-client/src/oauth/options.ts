import { z } from 'zod';

export const oauthOptionsSchema = z.strictObject({
  grant: z
    .enum(['client_credentials', 'authorization_code', 'jwt_bearer'])
    .default('client_credentials')
    .describe(
      'authorization_code: a person logs in with `starloom agents login`; jwt_bearer: sends the JWT in assertion_file',
    ),
  client_id: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Id of the gateway at the authorization server; needed for client_credentials. A login without it registers the gateway',
    ),
  client_secret: z
    .string()
    .min(1)
    .optional()
    .describe('Secret of client_id, as env:NAME or file:PATH'),
  private_key: z
    .string()
    .min(1)
    .optional()
    .describe(
      'PEM key, as env:NAME or file:PATH; signs JWTs (private_key_jwt) in place of client_secret',
    ),
  issuer: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Authorization server; default: on the origin of endpoint.uri, or without client_id the one that the agent names',
    ),
  scope: z
    .string()
    .min(1)
    .max(2_000)
    .optional()
    .describe('Scopes to request; default: those that the agent names'),
  dpop: z
    .boolean()
    .optional()
    .describe(
      'true: only tokens bound to a key of the gateway (RFC 9449); false: bearer tokens; default: as the agent asks',
    ),
  assertion_file: z
    .string()
    .regex(/^(?:\/|[A-Za-z]:[\\/])/, 'must be an absolute path')
    .optional()
    .describe(
      'Absolute path of the JWT for jwt_bearer: that of the workload, or the ID token of a person',
    ),
  idp_token_endpoint: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Identity provider that exchanges the ID token for a grant (ID-JAG)'),
  idp_client_id: z
    .string()
    .min(1)
    .optional()
    .describe('Id of the gateway at the identity provider'),
  idp_client_secret: z
    .string()
    .min(1)
    .optional()
    .describe('Secret of idp_client_id, as env:NAME or file:PATH'),
  redirect_port: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Port of the redirect address, if the server allows only one; default: any'),
  timeout_ms: z
    .int()
    .positive()
    .default(10_000)
    .describe('Time limit for each request to the authorization server'),
});

export type OauthOptions = z.infer<typeof oauthOptionsSchema>;

/** Options that hold secrets: references in a file, values in an adapter. */
export const OAUTH_SECRETS = ['client_secret', 'private_key', 'idp_client_secret'] as const;
