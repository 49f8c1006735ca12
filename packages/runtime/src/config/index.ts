export {
  type AgentFile,
  type AgentFileInput,
  agentFileSchema,
  limitsSchema,
  type PluginEntry,
  type ProviderConfig,
  providerSchema,
} from './agent-file.ts';
export {
  type AgentToml,
  type AgentTomlInput,
  agentTomlSchema,
  type DirectoryConfig,
  mcpServersOf,
  type PeerConfig,
  peersOf,
} from './agent-toml.ts';
export { checkToolNames } from './check-tool-names.ts';
export {
  type AgentConfig,
  type GivenConfig,
  loadAgentConfig,
  parseAgentConfig,
} from './load-agent-config.ts';
export {
  type BuiltInPlugins,
  type LoadedPlugins,
  type LoadPluginsOptions,
  loadPlugins,
} from './load-plugins.ts';
export { writeAlwaysRule } from './write-always-rule.ts';
