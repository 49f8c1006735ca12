import type { AgentFileInput } from '@starloom/runtime';

export interface AgentAnswers {
  readonly name: string;
  readonly purpose: string;
  readonly plugins: readonly string[];
  /** Absent: the agent follows a script. */
  readonly model?: ModelAnswers | undefined;
}

export interface ModelAnswers {
  readonly model: string;
  /** Of an OpenAI-compatible server. */
  readonly baseUrl?: string | undefined;
  /** Of the AI SDK, instead of `baseUrl`. */
  readonly package?: string | undefined;
  /** `env:NAME` or `file:PATH`. */
  readonly apiKey?: string | undefined;
}

export const DEFAULT_BASE_URL = 'http://127.0.0.1:11434/v1';
export const DEFAULT_PLUGINS: readonly string[] = ['fs', 'time'];

const SCRIPTED =
  'I follow a script until agent.json names a model. My tools are real: /help lists them.';

/** Without a model the agent runs without a key: a script uses what the plugins bring. */
export function agentFile({ name, purpose, plugins, model }: AgentAnswers): AgentFileInput {
  const hasFiles = plugins.includes('fs');
  return {
    name,
    version: '0.1.0',
    ...(purpose !== '' && { description: purpose }),
    provider: model ? providerOf(model) : scriptOf(hasFiles),
    system_prompt: `You are ${name}.${purpose === '' ? '' : ` You are here for this: ${purpose}.`} Be brief, and use your tools instead of guessing.`,
    plugins: plugins.map((plugin) =>
      plugin === 'fs' ? { name: plugin, config: { roots: ['.'] } } : { name: plugin },
    ),
    mcp: { expose_tools: ['ask', ...(hasFiles ? ['fs:read_file', 'fs:list'] : [])] },
    limits: { steps: 50, tokens: 100_000, seconds: 600 },
  };
}

function scriptOf(hasFiles: boolean): AgentFileInput['provider'] {
  const look = { type: 'tool_call', toolCall: { name: 'fs:list', args: {} } } as const;
  const script = hasFiles ? [['Let me look around. ', look], SCRIPTED] : [SCRIPTED];
  return { kind: 'scripted', cycle: true, script };
}

function providerOf(answers: ModelAnswers): AgentFileInput['provider'] {
  const { model, package: name, baseUrl, apiKey } = answers;
  const key = apiKey !== undefined && { api_key: apiKey };
  if (name !== undefined) {
    const url = baseUrl !== undefined && { base_url: baseUrl };
    return { kind: 'ai-sdk', package: name, model, ...url, ...key };
  }
  return { kind: 'openai-compatible', base_url: baseUrl ?? DEFAULT_BASE_URL, model, ...key };
}

export function agentToml(schema: string | undefined): string {
  const heading = schema === undefined ? '' : `#:schema ${schema}\n`;
  return `${heading}# MCP servers whose tools the agent uses, as <name>:<tool>.
# allowed_tools: a list, those ("*": all), and their descriptions count as read; [], none.
#
# [[mcp.servers]]
# name = "docs"
# command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]
# allowed_tools = ["read_file"]

# By tool: named (default), allow, ask, deny. docs/trust.md has the decision table.
# [security.tools]
# "docs:write_file" = "ask"
`;
}
