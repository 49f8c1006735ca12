import type { Fields } from '@starloom/core';
import type { ITool, ToolContext, ToolEffect, ToolOutput } from '@starloom/sdk';
import { isListed } from './allowed-tools.ts';
import type { McpServerConfig } from './server-config.ts';

interface Hints {
  readonly readOnlyHint?: unknown;
  readonly destructiveHint?: unknown;
}

/** As far as a server described it. */
export interface OfferedTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema?: Fields | undefined;
  readonly annotations?: Hints;
}

const MAX_DESCRIPTION = 8_192;

/**
 * A tool of a server as one of the agent's. Its results are untrusted. Its `readOnlyHint` counts when the
 * operator listed the tool; a hint that it destroys always does.
 */
export function toTool(
  { name: server, allowed_tools, tools = {} }: McpServerConfig,
  { name, title, description, inputSchema, annotations }: OfferedTool,
  execute: (args: Fields, context: ToolContext) => Promise<ToolOutput>,
): ITool {
  const { effect = hintedEffect(annotations, isListed(allowed_tools)), targets } =
    (Object.hasOwn(tools, name) && tools[name]) || {};
  return {
    name: `${server}:${name}`,
    description: (description ?? title ?? '').slice(0, MAX_DESCRIPTION),
    parameters: inputSchema ?? { type: 'object' },
    execute,
    untrusted: true,
    source: `mcp:${server}`,
    ...(effect && { effect }),
    ...(targets && { targets }),
  };
}

function hintedEffect(hints: Hints = {}, isVetted: boolean): ToolEffect | undefined {
  const { readOnlyHint, destructiveHint } = hints;
  if (isVetted && typeof readOnlyHint === 'boolean') return readOnlyHint ? 'read' : 'act';
  return destructiveHint === true ? 'act' : undefined;
}
