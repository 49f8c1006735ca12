// Editor agents that are known by name: how each is started, in the version that was tried, and what
// login it needs. `starloom agents add --acp <name>` writes the manifest.

export interface EditorAgentPreset {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables of the gateway in which the agent looks for its key. */
  readonly keys: readonly string[];
  /** What a person has to do once. */
  readonly login: string;
}

export const EDITOR_AGENT_PRESETS = {
  claude: npm('@agentclientprotocol/claude-agent-acp@0.99.1', [], {
    keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL'],
    login: 'log in with "claude", or set ANTHROPIC_API_KEY',
  }),
  codex: npm('@agentclientprotocol/codex-acp@2.6.0', [], {
    keys: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
    login: 'log in with "codex login", or set OPENAI_API_KEY',
  }),
  gemini: npm('@google/gemini-cli@0.61.0', ['--acp'], {
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_CLOUD_PROJECT'],
    login:
      'log in with "gemini", or set GEMINI_API_KEY and options.auth_method to "gemini-api-key"; ' +
      'the folder must be one that "gemini" trusts',
  }),
  opencode: npm('opencode-ai@1.18.33', ['acp'], {
    keys: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY'],
    login: 'log in with "opencode auth login"; without a login it uses a model of its maker',
  }),
  qwen: npm('@qwen-code/qwen-code@0.24.4', ['--acp'], {
    keys: ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL'],
    login: 'log in with "qwen", or set OPENAI_API_KEY and options.auth_method to "openai"',
  }),
  copilot: npm('@github/copilot@1.0.102', ['--acp'], {
    keys: ['GH_TOKEN', 'GITHUB_TOKEN'],
    login: 'log in with "copilot", or set GH_TOKEN',
  }),
  auggie: npm('@augmentcode/auggie@0.36.0', ['--acp'], {
    keys: ['AUGMENT_SESSION_AUTH'],
    login: 'log in with "auggie login"',
  }),
  nanocoder: npm('@nanocollective/nanocoder@1.30.0', ['--acp'], {
    keys: [],
    login: 'name a model in agents.config.json of the folder it works in',
  }),
  // Without its Python it is not found where an older one comes first.
  vibe: uvx(['--python', '>=3.12', '--from', 'mistral-vibe==3.0.2', 'vibe-acp'], {
    keys: ['MISTRAL_API_KEY'],
    login: 'run "vibe --setup", or set MISTRAL_API_KEY',
  }),
  hermes: uvx(['--from', 'hermes-agent[acp]==0.19.0', 'hermes-acp'], {
    keys: ['OPENROUTER_API_KEY'],
    login: 'run "hermes setup"',
  }),
  goose: {
    command: 'goose',
    args: ['acp'],
    keys: ['GOOSE_PROVIDER', 'GOOSE_MODEL', 'OPENAI_API_KEY', 'ANTHROPIC_API_KEY'],
    login: 'install goose, then run "goose configure"',
  },
} satisfies Readonly<Record<string, EditorAgentPreset>>;

export type EditorAgentName = keyof typeof EDITOR_AGENT_PRESETS;

type Rest = Pick<EditorAgentPreset, 'keys' | 'login'>;

function npm(name: string, args: readonly string[], rest: Rest): EditorAgentPreset {
  return { command: 'npx', args: ['-y', name, ...args], ...rest };
}

function uvx(args: readonly string[], rest: Rest): EditorAgentPreset {
  return { command: 'uvx', args, ...rest };
}
