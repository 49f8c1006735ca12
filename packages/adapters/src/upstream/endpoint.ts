import { type AgentDescription, type Endpoint, type Manifest, protocolOf } from '@starloom/core';
import { OAUTH_SECRETS } from '@starloom/mcp-client/oauth-options';
import { createExcerpt, type Excerpt } from '@starloom/wire';
import type { z } from 'zod';
import { failure } from '../reasons.ts';

/** `endpoint.options` by the adapter's schema; BAD_INPUT names the option that is wrong. */
export function parseOptions<Schema extends z.ZodType>(
  schema: Schema,
  { agent_id, endpoint }: Manifest,
): z.infer<Schema> {
  const parsed = schema.safeParse(endpoint.options ?? {});
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    [['options', ...path].join('.'), message].join(': '),
  );
  throw failure('bad_options', { agent_id, protocol: protocolOf(endpoint), problems });
}

/** Makes the excerpts of what one agent wrote, which leave out the secrets of its manifest. */
export function agentExcerpt({ endpoint }: Manifest): Excerpt {
  const { headers, env, options } = endpoint;
  return createExcerpt({ headers, env, others: secretsOf(options) });
}

/** The secrets in the option `oauth`. */
function secretsOf(options: Readonly<Record<string, unknown>> = {}): readonly string[] {
  const oauth: Readonly<Record<string, unknown>> = Object(options.oauth);
  return OAUTH_SECRETS.map((name) => oauth[name]).filter((value) => typeof value === 'string');
}

/** For connections to an agent: our certificate, and the CA that its certificate must be of. */
export function tlsOptions({ tls }: Pick<Endpoint, 'tls'>) {
  if (tls === undefined) return {};
  const { certificate: cert, key, ca } = tls;
  return {
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(ca !== undefined && { ca }),
  };
}

/** Describes an agent by its manifest, where its protocol has no request for that. */
export function describeManifest(manifest: Manifest): AgentDescription {
  const { version, description, capabilities = [] } = manifest;
  return { version, capabilities, ...(description === undefined ? {} : { description }) };
}
