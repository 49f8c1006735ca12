import type {
  CallToolResult,
  InputRequiredResult,
  ServerContext,
  Tool,
} from '@modelcontextprotocol/server';

type Arguments = Readonly<Record<string, unknown>>;
type Answer = CallToolResult | InputRequiredResult;

/** A tool the suite knows by its name. */
export interface FixtureTool {
  readonly definition: Tool;
  call(given: Arguments, context: ServerContext): Answer | Promise<Answer>;
}

export function fixtureTool(
  name: string,
  description: string,
  call: FixtureTool['call'],
  inputSchema: Tool['inputSchema'] = { type: 'object' },
): FixtureTool {
  return { definition: { name, description, inputSchema }, call };
}

export function text(said: string): CallToolResult {
  return { content: [{ type: 'text', text: said }] };
}
