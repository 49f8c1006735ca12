import type { Tool } from '@modelcontextprotocol/client';
import type { ITool, ToolContext, ToolOutput } from '@starloom/sdk';
import type { JsonObject } from '../json.ts';

const MAX_DESCRIPTION = 8_192;

/**
 * A tool of a server as one of the agent's. What the server says of it is not believed: its results are
 * untrusted, and its annotations can only make it riskier.
 */
export function toTool(
  server: string,
  { name, title, description, inputSchema, annotations }: Tool,
  execute: (args: JsonObject, context: ToolContext) => Promise<ToolOutput>,
): ITool {
  return {
    name: `${server}:${name}`,
    description: (description ?? title ?? '').slice(0, MAX_DESCRIPTION),
    parameters: inputSchema,
    execute,
    untrusted: true,
    source: `mcp:${server}`,
    ...(annotations?.destructiveHint === true && { risk: 'high' as const }),
  };
}
