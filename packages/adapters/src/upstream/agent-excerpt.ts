import type { Manifest } from '@starloom/core';
import { OAUTH_SECRETS } from '@starloom/mcp-client/oauth-options';
import { createExcerpt, type Excerpt } from '@starloom/wire';

/** Of what an agent wrote; made once per agent, without the secrets of its manifest. */
export function agentExcerpt({ endpoint }: Manifest): Excerpt {
  const { headers, env, options } = endpoint;
  return createExcerpt({ headers, env, others: secretsOf(options) });
}

/** What `oauth` among the options of an adapter gives. */
function secretsOf(options: Readonly<Record<string, unknown>> = {}): readonly string[] {
  const oauth: Readonly<Record<string, unknown>> = Object(options.oauth);
  return OAUTH_SECRETS.map((name) => oauth[name]).filter((value) => typeof value === 'string');
}
