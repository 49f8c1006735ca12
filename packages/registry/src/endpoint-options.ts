import type { ConfigPart } from '@starloom/config';
import { type Endpoint, endpointSchema, isObject, protocolOf } from '@starloom/core';
import type { z } from 'zod';

/** What `endpoint.options` may hold, by protocol. A protocol that is not here is not checked. */
export type OptionSchemas = Readonly<Record<string, z.ZodType>>;

/** The options of every agent in a list of manifests as it was read, with their schemas. */
export function endpointOptions(schemas: OptionSchemas): (root: unknown) => ConfigPart[] {
  return (root) => {
    const entries = Array.isArray(root) ? root : [];
    return entries.flatMap((entry: unknown, index) => {
      const protocol = protocolIn(entry);
      const schema =
        protocol !== undefined && Object.hasOwn(schemas, protocol) && schemas[protocol];
      return schema ? [{ path: [index, 'endpoint', 'options'], schema }] : [];
    });
  };
}

/** `undefined` where the entry itself is wrong: the schema of manifests says so. */
function protocolIn(entry: unknown): string | undefined {
  if (!isObject(entry) || !isObject(entry.endpoint)) return undefined;
  const { protocol, transport, options = {} } = entry.endpoint;
  const known = endpointSchema.shape.transport.safeParse(transport);
  const isNamed = protocol === undefined || typeof protocol === 'string';
  if (!known.success || !isNamed || !isObject(options)) return undefined;
  return protocolOf({ transport: known.data, protocol } satisfies Endpoint);
}
