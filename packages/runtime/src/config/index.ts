export { agentFileSchema } from './agent-file.ts';
export { agentTomlSchema } from './agent-toml.ts';
