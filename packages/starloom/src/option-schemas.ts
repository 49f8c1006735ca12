import { adapters } from '@starloom/adapters';
import type { OptionSchemas } from '@starloom/registry';

/** What `endpoint.options` of an agent may hold, by protocol: what the adapters here take. */
export const OPTION_SCHEMAS: OptionSchemas = Object.fromEntries(
  Object.entries(adapters).map(([protocol, { options }]) => [protocol, options]),
);
