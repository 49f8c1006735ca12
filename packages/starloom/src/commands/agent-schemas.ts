import { existsSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

export interface AgentSchemas {
  /** Of `agent.json`, as a path from its folder. */
  readonly json: string;
  /** Of `agent.toml`. */
  readonly toml: string;
}

const SCHEMAS = join('node_modules', '@starloom', 'runtime', 'schemas');

/** Where an editor finds the schemas of the two files, if the project of this folder has them. */
export function findAgentSchemas(folder: string): AgentSchemas | undefined {
  for (let above = folder; ; above = dirname(above)) {
    const found = join(above, SCHEMAS);
    if (existsSync(found)) {
      const [json, toml] = [join(found, JSON_SCHEMA), join(found, TOML_SCHEMA)];
      return { json: toReference(folder, json), toml: toReference(folder, toml) };
    }
    if (above === dirname(above)) return undefined;
  }
}

const JSON_SCHEMA = 'agent.schema.json';
const TOML_SCHEMA = 'agent-toml.schema.json';

function toReference(folder: string, file: string): string {
  const path = relative(folder, file).split(sep).join('/');
  return path.startsWith('.') ? path : `./${path}`;
}
