import type { AgentFileInput } from '@starloom/runtime';

export interface AgentAnswers {
  readonly name: string;
  readonly purpose: string;
  readonly plugins: readonly string[];
}

export const DEFAULT_PLUGINS: readonly string[] = ['fs', 'time'];

const SCRIPTED =
  'I follow a script until agent.json names a model. My tools are real: /help lists them.';

/** An agent that runs without a key: its model is a script that uses what the plugins bring. */
export function agentFile({ name, purpose, plugins }: AgentAnswers): AgentFileInput {
  const hasFiles = plugins.includes('fs');
  const look = { type: 'tool_call', toolCall: { name: 'fs:list', args: {} } } as const;
  const script = hasFiles ? [['Let me look around. ', look], SCRIPTED] : [SCRIPTED];
  return {
    name,
    version: '0.1.0',
    ...(purpose !== '' && { description: purpose }),
    provider: { kind: 'scripted', cycle: true, script },
    system_prompt: `You are ${name}.${purpose === '' ? '' : ` You are here for this: ${purpose}.`} Be brief, and use your tools instead of guessing.`,
    plugins: plugins.map((plugin) =>
      plugin === 'fs' ? { name: plugin, config: { roots: ['.'] } } : { name: plugin },
    ),
    mcp: { expose_tools: ['ask', ...(hasFiles ? ['fs:read_file', 'fs:list'] : [])] },
    limits: { steps: 50, tokens: 100_000, seconds: 600 },
  };
}

export function agentToml(schema: string | undefined): string {
  const heading = schema === undefined ? '' : `#:schema ${schema}\n`;
  return `${heading}# MCP servers whose tools the agent uses, as <name>:<tool>.
# allowed_tools: not set, all of them with a warning; [], none; a list, those.
#
# [[mcp.servers]]
# name = "docs"
# command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]
# allowed_tools = ["read_file"]

[security]
# default, strict (doubts become refusals) or research.
mode = "default"

# Another model, asked where the rules would ask a person.
# [security.second_opinion]
# provider = { kind = "openai-compatible", base_url = "http://127.0.0.1:11434/v1", model = "llama3.2" }
`;
}
