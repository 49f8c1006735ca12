import { FabricError, type Manifest, manifestSchema, normalName } from '@starloom/core';
import { type AgentFile, isExposed } from '@starloom/runtime';
import type { z } from 'zod';
import { OWN_COMMAND } from '../own-command.ts';

export interface AgentPlace {
  /** Of the agent, as the gateway finds it. */
  readonly place: string;
  /** Instead of its name. */
  readonly as?: string | undefined;
}

/** The manifest of an agent that the gateway starts: what it exposes, under its own names. */
export function toAgentManifest(agent: AgentFile, { place, as }: AgentPlace): Manifest {
  const { name, version, description, mcp } = agent;
  const tools = mcp.expose_tools.filter((tool) => isExposed(mcp, tool));
  if (tools.length === 0) throw nothingExposed(name);
  const manifest = manifestSchema.safeParse({
    agent_id: as ?? name,
    version,
    ...(description !== undefined && { description }),
    endpoint: {
      transport: 'stdio',
      command: OWN_COMMAND,
      args: ['agent', 'run', place, '--mcp', 'stdio'],
    },
    capabilities: [...new Set(tools)].map(toCapability),
    trust_tier: 'local',
  });
  if (manifest.success) return manifest.data;
  throw unfit(name, manifest.error);
}

/** Over MCP an agent lists `fs:read_file` as `fs.read_file`. */
function toCapability(name: string) {
  const tool = normalName(name);
  return {
    name,
    ...(name === 'ask' && { streaming: true }),
    ...(tool !== name && { tool }),
  };
}

function nothingExposed(name: string): FabricError {
  return new FabricError('BAD_INPUT', `The agent "${name}" exposes nothing`, {
    details: {
      reason: 'nothing_exposed',
      fix: 'name tools in mcp.expose_tools of agent.json; "ask" is the agent itself',
    },
  });
}

function unfit(name: string, error: z.ZodError): FabricError {
  const problems = error.issues.map(({ path, message }) => ({ path, message }));
  const [problem] = problems;
  const what = `${problem?.path.join('.')}: ${problem?.message}`;
  return new FabricError('BAD_INPUT', `"${name}" cannot be an agent of a gateway: ${what}`, {
    details: { reason: 'manifest', problems, fix: 'rename it in agent.json, or with --as <id>' },
    cause: error,
  });
}
