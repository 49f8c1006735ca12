import { basename, extname } from 'node:path';
import { toConfigJsonSchema } from '@starloom/config';
import { agentsFileSchema } from '@starloom/core';
import { gatewayConfigSchema } from '@starloom/gateway/config';
import { agentFileSchema, agentTomlSchema } from '@starloom/runtime/config';

/** The files that people write; one row adds a file to `validate`, `schema` and the JSON Schemas. */
export const CONFIG_FILES = {
  starloom: { title: 'starloom.yaml: the gateway', schema: gatewayConfigSchema },
  agents: { title: 'agents.yaml: the agents of a gateway', schema: agentsFileSchema },
  agent: { title: 'agent.json: an agent', schema: agentFileSchema },
  'agent-toml': { title: 'agent.toml: what an agent uses and trusts', schema: agentTomlSchema },
} as const;

export type ConfigKind = keyof typeof CONFIG_FILES;

export function jsonSchemaFor(kind: ConfigKind): Record<string, unknown> {
  const { schema, title } = CONFIG_FILES[kind];
  return toConfigJsonSchema(schema, { name: kind, title });
}

/** By its name: `agents.yaml`, `my-agents.json`, `agent.json`; anything else is a gateway's. */
export function configKindOf(file: string): ConfigKind {
  const name = basename(file);
  if (extname(name).toLowerCase() === '.toml') return 'agent-toml';
  if (/\bagents\b/i.test(name)) return 'agents';
  return /\bagent\b/i.test(name) ? 'agent' : 'starloom';
}
