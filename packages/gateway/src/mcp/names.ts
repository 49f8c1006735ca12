// How what agents offer is named towards clients when many agents share one endpoint: prompts as
// `<agent_id>.<name>`, resources as `starloom:<agent_id>:<uri>`, also inside URI templates. Agents
// that are served unprefixed keep their names.

export interface Named {
  readonly agentId: string;
  /** As the agent calls it. */
  readonly name: string;
}

const SCHEME = 'starloom:';

export function toResourceUri(agentId: string, uri: string): string {
  return `${SCHEME}${agentId}:${uri}`;
}

/** `undefined` when the URI is not one of ours. */
export function parseResourceUri(uri: string): Named | undefined {
  const [, agentId, name] = /^starloom:([a-z0-9][a-z0-9_-]{0,30}):(.+)$/s.exec(uri) ?? [];
  return agentId && name ? { agentId, name } : undefined;
}

export function toPromptName(agentId: string, name: string): string {
  return `${agentId}.${name}`;
}

export function parsePromptName(name: string): Named | undefined {
  const at = name.indexOf('.');
  return at > 0 ? { agentId: name.slice(0, at), name: name.slice(at + 1) } : undefined;
}
