// The card of the agent: each exposed tool is a skill. The extended card adds the schemas of the arguments.

import type { AgentCard, AgentSkill } from '@a2a-js/sdk';
import { a2aError, LEGACY, SCHEMAS_EXTENSION, takes } from '@starloom/a2a';
import { BEARER_SECURITY } from '@starloom/a2a/tasks';
import { ASK, type ExposedTool } from '../core/exposed-tools.ts';

export interface CardFacts {
  readonly name: string;
  readonly version: string;
  readonly description: string | undefined;
  /** Of the protocol. */
  readonly versions: readonly string[];
  /** Where the caller reaches the agent, without a slash at the end. */
  readonly base: string;
  readonly needsKey: boolean;
}

const TEXT_MODES = ['text/plain', 'application/json'];
/** Any type, any of these two kinds, or `text` as older clients write it. */
const WIDE = /^(?:\*|text|application)(?:\/\*)?$/;
/** What the agent itself takes: words, documents, and what its model may look at or listen to. */
const ASK_MODES = [...TEXT_MODES, 'image/*', 'audio/*'];

export function toCard(
  tools: readonly ExposedTool[],
  { name, version, description, versions, base, needsKey }: CardFacts,
  isExtended: boolean,
): AgentCard {
  const skills = tools.map(toSkill);
  const modes = [...new Set([...TEXT_MODES, ...skills.flatMap(({ inputModes }) => inputModes)])];
  return {
    name,
    description: description ?? `The agent ${name}`,
    version,
    supportedInterfaces: versions.flatMap((protocolVersion) => {
      const rpc = { url: base, protocolBinding: 'JSONRPC', protocolVersion, tenant: '' };
      return protocolVersion === LEGACY ? [rpc] : [rpc, { ...rpc, protocolBinding: 'HTTP+JSON' }];
    }),
    provider: undefined,
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: true,
      extensions: isExtended ? [schemasOf(tools)] : [],
    },
    ...(needsKey ? BEARER_SECURITY : { securitySchemes: {}, securityRequirements: [] }),
    defaultInputModes: modes,
    defaultOutputModes: TEXT_MODES,
    skills,
    signatures: [],
  };
}

/** Refuses a client that takes nothing of what the agent answers with. */
export function assertAccepted(accepted: readonly string[]): void {
  const isTaken = accepted.some((mode) => WIDE.test(mode) || takes(TEXT_MODES, mode));
  if (accepted.length === 0 || isTaken) return;
  throw a2aError('CONTENT_TYPE_NOT_SUPPORTED', 'The agent answers in none of the accepted types', {
    modes: TEXT_MODES,
  });
}

export function modesOf({ name }: ExposedTool): string[] {
  return name === ASK.name ? ASK_MODES : TEXT_MODES;
}

function toSkill(tool: ExposedTool): AgentSkill {
  const { name, listedName: id, description } = tool;
  return {
    id,
    name: id,
    description: description || `The tool ${name}`,
    tags: [name === ASK.name ? 'agent' : 'tool'],
    examples: [],
    inputModes: modesOf(tool),
    outputModes: TEXT_MODES,
    securityRequirements: [],
  };
}

function schemasOf(tools: readonly ExposedTool[]) {
  const entries = tools.map((tool) => [tool.listedName, { inputSchema: tool.parameters }]);
  return {
    uri: SCHEMAS_EXTENSION,
    description: 'JSON Schemas of the arguments of each skill',
    required: false,
    params: Object.fromEntries(entries),
  };
}
