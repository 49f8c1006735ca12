import { adapters } from '@starloom/adapters';
import type { OptionSchemas } from '@starloom/registry';
import type { z } from 'zod';
import { isReference } from './import-servers/secret-names.ts';

/** What `endpoint.options` of an agent may hold, by protocol: what the adapters here take. */
export const OPTION_SCHEMAS: OptionSchemas = {
  ...Object.fromEntries(
    Object.entries(adapters).map(([protocol, { options }]) => [protocol, options]),
  ),
  mcp: withoutLiteralSecret(adapters.mcp.options),
};

/** In a file the secret of a client is a reference; the adapter gets its value. */
function withoutLiteralSecret(schema: typeof adapters.mcp.options): z.ZodType {
  return schema.superRefine(({ oauth }, context) => {
    const secret = oauth?.client_secret;
    if (secret === undefined || isReference(secret)) return;
    context.addIssue({
      code: 'custom',
      path: ['oauth', 'client_secret'],
      message: 'a secret must not stand in the file',
      params: { fix: 'write env:NAME or file:PATH' },
    });
  });
}
