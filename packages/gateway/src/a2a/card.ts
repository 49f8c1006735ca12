// Cards: what an agent offers, as the caller may use it; and the card of the gateway, which lists every
// agent. They differ by caller, so no shared cache may keep them.

import type { AgentCard, AgentExtension, AgentInterface, AgentSkill } from '@a2a-js/sdk';
import { CARD_PATH, LEGACY, OWN_ID, SCHEMAS_EXTENSION } from '@starloom/a2a';
import { BEARER_SECURITY, modesOf } from '@starloom/a2a/tasks';
import type { AgentRecord, Capability } from '@starloom/core';
import type { Scope } from './scope.ts';

interface CardOptions {
  readonly versions: readonly string[];
  /** Of the gateway itself. */
  readonly version: string;
  /** Where the caller reaches the gateway, without a slash at the end. */
  readonly base: string;
  /** Where gRPC is served. */
  readonly grpcPort: number | undefined;
}

/** Parameters: `{agents: [{agentId, card}]}`. */
const AGENTS_EXTENSION = 'https://starloom.dev/a2a/agents/v1';

/** An extended card has the schemas of the capabilities, which skills have no place for. */
export function toCard(scope: Scope, options: CardOptions, isExtended: boolean): AgentCard {
  const records = scope.records();
  const [first] = records;
  const isGateway = scope.agentId === undefined;
  const skills = records.flatMap((record) => skillsOf(record, scope));
  const modes = new Set(['text/plain', ...skills.flatMap(({ inputModes }) => inputModes)]);
  const about = isGateway ? gatewayAbout(options) : agentAbout(first);
  return {
    ...about,
    supportedInterfaces: interfacesOf(scope, options),
    provider: undefined,
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: true,
      extensions: [
        ...(isGateway ? [agentsExtension(records, options)] : []),
        ...(isExtended ? [schemasExtension(records, scope)] : []),
      ],
    },
    ...BEARER_SECURITY,
    defaultInputModes: [...modes],
    defaultOutputModes: [...modes],
    skills,
    signatures: [],
  };
}

function agentAbout(record: AgentRecord | undefined) {
  const { agent_id = '', description, version = '' } = record?.manifest ?? {};
  return { name: agent_id, description: description ?? `The agent ${agent_id}`, version };
}

function gatewayAbout({ version }: CardOptions) {
  return {
    name: 'starloom',
    description: 'A gateway to agents: each capability of each agent is a skill',
    version,
  };
}

/**
 * JSON-RPC is posted to the URL and REST is below it; over gRPC the tenant names the agent. Version 0.3
 * is served over JSON-RPC alone.
 */
function interfacesOf(
  { agentId }: Scope,
  { versions, base, grpcPort }: CardOptions,
): AgentInterface[] {
  const url = `${base}/a2a/${agentId ?? OWN_ID}`;
  return versions.flatMap((protocolVersion) => {
    const rpc = { url, protocolBinding: 'JSONRPC', protocolVersion, tenant: '' };
    if (protocolVersion === LEGACY) return [rpc];
    const bindings = [rpc, { ...rpc, protocolBinding: 'HTTP+JSON' }];
    if (grpcPort === undefined) return bindings;
    const grpc = `${new URL(base).hostname}:${grpcPort}`;
    const tenant = agentId ?? OWN_ID;
    return [...bindings, { url: grpc, protocolBinding: 'GRPC', protocolVersion, tenant }];
  });
}

function skillsOf({ manifest, capabilities }: AgentRecord, scope: Scope): AgentSkill[] {
  const { agent_id, tags } = manifest;
  return capabilities.map((capability) => ({
    id: scope.skillId(agent_id, capability.name),
    name: capability.title ?? capability.name,
    description: capability.description ?? `${capability.name} by ${agent_id}`,
    tags: [...new Set([agent_id, ...tags])],
    examples: [],
    inputModes: modesOf(capability),
    outputModes: modesOf(capability),
    securityRequirements: [],
  }));
}

function agentsExtension(records: readonly AgentRecord[], { base }: CardOptions): AgentExtension {
  const agents = records.map(({ manifest: { agent_id: agentId } }) => ({
    agentId,
    card: `${base}/a2a/${agentId}${CARD_PATH}`,
  }));
  const description = 'The agents behind the gateway, with their cards';
  return { uri: AGENTS_EXTENSION, description, required: false, params: { agents } };
}

function schemasExtension(records: readonly AgentRecord[], scope: Scope): AgentExtension {
  const entries = records.flatMap(({ manifest, capabilities }) =>
    capabilities.map((capability) => [
      scope.skillId(manifest.agent_id, capability.name),
      schemasOf(capability),
    ]),
  );
  return {
    uri: SCHEMAS_EXTENSION,
    description: 'JSON Schemas of the arguments and results of each skill',
    required: false,
    params: Object.fromEntries(entries),
  };
}

function schemasOf({ input_schema: inputSchema, output_schema: outputSchema }: Capability) {
  return { ...(inputSchema && { inputSchema }), ...(outputSchema && { outputSchema }) };
}
