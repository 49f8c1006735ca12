import { basename } from 'node:path';
import { agentsFileSchema } from '@starloom/core';
import { gatewayConfigSchema } from '@starloom/gateway/config';
import { toConfigJsonSchema } from '@starloom/wire/config';

/** The files that people write; one row adds a file to `validate`, `schema` and the JSON Schemas. */
export const CONFIG_FILES = {
  starloom: { title: 'starloom.yaml: the gateway', schema: gatewayConfigSchema },
  agents: { title: 'agents.yaml: the agents of a gateway', schema: agentsFileSchema },
} as const;

export type ConfigKind = keyof typeof CONFIG_FILES;

export function jsonSchemaFor(kind: ConfigKind): Record<string, unknown> {
  const { schema, title } = CONFIG_FILES[kind];
  return toConfigJsonSchema(schema, { name: kind, title });
}

/** By its name: `agents.yaml`, `my-agents.json`; anything else is a gateway's. */
export function configKindOf(file: string): ConfigKind {
  return /\bagents\b/i.test(basename(file)) ? 'agents' : 'starloom';
}
