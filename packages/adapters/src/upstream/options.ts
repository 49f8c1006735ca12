import { FabricError, type Manifest, protocolOf } from '@starloom/core';
import type { z } from 'zod';

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
  const protocol = protocolOf(endpoint);
  throw new FabricError('BAD_INPUT', `Agent "${agent_id}" has wrong endpoint options`, {
    details: { agent_id, protocol, reason: 'bad_options', problems, fix: 'correct its manifest' },
  });
}
