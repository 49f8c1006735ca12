import type { Tool } from '@modelcontextprotocol/client';
import type { Fields } from '@starloom/core';
import type { ITool, ToolContext, ToolEffect, ToolOutput } from '@starloom/sdk';
import { isListed } from './allowed-tools.ts';
import type { McpServerConfig } from './server-config.ts';

const MAX_DESCRIPTION = 8_192;

/**
 * A tool of a server as one of the agent's. Its results are untrusted. Its `readOnlyHint` counts when the
 * operator listed the tool; a hint that it destroys always does.
 */
export function toTool(
  { name: server, allowed_tools, tools = {} }: McpServerConfig,
  { name, title, description, inputSchema, annotations }: Tool,
  execute: (args: Fields, context: ToolContext) => Promise<ToolOutput>,
): ITool {
  const { effect = hintedEffect(annotations, isListed(allowed_tools)), targets } =
    (Object.hasOwn(tools, name) && tools[name]) || {};
  return {
    name: `${server}:${name}`,
    description: (description ?? title ?? '').slice(0, MAX_DESCRIPTION),
    parameters: inputSchema,
    execute,
    untrusted: true,
    source: `mcp:${server}`,
    ...(effect && { effect }),
    ...(targets && { targets }),
  };
}

function hintedEffect(hints: Tool['annotations'], isVetted: boolean): ToolEffect | undefined {
  if (isVetted && hints?.readOnlyHint !== undefined) return hints.readOnlyHint ? 'read' : 'act';
  return hints?.destructiveHint === true ? 'act' : undefined;
}
