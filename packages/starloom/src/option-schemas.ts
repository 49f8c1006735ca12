import { adapters, OAUTH_SECRETS } from '@starloom/adapters';
import type { OptionSchemas } from '@starloom/registry';
import type { z } from 'zod';
import { isReference } from './import-servers/expand.ts';

/** What `endpoint.options` of an agent may hold, by protocol: what the adapters here take. */
export const OPTION_SCHEMAS: OptionSchemas = {
  ...Object.fromEntries(
    Object.entries(adapters).map(([protocol, { options }]) => [protocol, options]),
  ),
  mcp: withoutLiteralSecret(adapters.mcp.options),
};

/** In a file the secrets of a client are references; the adapter gets their values. */
function withoutLiteralSecret(schema: typeof adapters.mcp.options): z.ZodType {
  return schema.superRefine(({ oauth }, context) => {
    for (const name of OAUTH_SECRETS) {
      const secret = oauth?.[name];
      if (secret === undefined || isReference(secret)) continue;
      context.addIssue({
        code: 'custom',
        path: ['oauth', name],
        message: 'the secret is plain text in this file',
        params: { fix: 'write env:NAME or file:PATH in its place' },
      });
    }
  });
}
