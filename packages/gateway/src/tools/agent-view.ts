import {
  type AgentDescription,
  type AgentRecord,
  type Capability,
  type Endpoint,
  UNKNOWN_VERSION,
} from '@starloom/core';

/** An agent as callers see it: its manifest without what could hold secrets, and its health. */
export function toAgentView(
  { manifest, health, capabilities: served, held }: AgentRecord,
  capabilities: readonly object[] = served,
) {
  const endpoint = toPublicEndpoint(manifest.endpoint);
  return { ...manifest, endpoint, capabilities, ...toHeldView(held), health };
}

/** What waits for approval, without a word that the agent wrote about it. */
export function toHeldView(held: AgentRecord['held']) {
  return held.length > 0 ? { held } : {};
}

/** A capability without its schemas, icons and the like, for lists. */
export function toSummary(capability: Capability) {
  const { input_schema: _, output_schema: __, mcp: ___, ...summary } = capability;
  return summary;
}

/** With what the agent says of itself where its manifest does not say it. */
export function withSaid(
  agent: ReturnType<typeof toAgentView>,
  { version, description, instructions }: Omit<AgentDescription, 'capabilities'>,
) {
  return {
    ...agent,
    ...(version !== undefined && agent.version === UNKNOWN_VERSION && { version }),
    ...(description !== undefined && agent.description === undefined && { description }),
    ...(instructions !== undefined && { instructions }),
  };
}

function toPublicEndpoint({ transport, protocol, uri, command }: Endpoint) {
  return {
    transport,
    ...(protocol && { protocol }),
    ...(uri && { uri: withoutCredentials(uri) }),
    ...(command && { command }),
  };
}

function withoutCredentials(uri: string): string {
  const url = new URL(uri);
  url.username = '';
  url.password = '';
  url.search = '';
  return url.href;
}
