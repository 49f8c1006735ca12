export { Agent, type AgentParts } from './agent.ts';
export { type AgentFile, type AgentFileInput, agentFileSchema } from './config/agent-file.ts';
export { type AgentToml, type AgentTomlInput, agentTomlSchema } from './config/agent-toml.ts';
export {
  type AgentConfig,
  type GivenConfig,
  loadAgentConfig,
  parseAgentConfig,
} from './config/load-agent-config.ts';
export { DEFAULT_RETRY, type RetryRules } from './core/ask-model.ts';
export {
  type AgentEvent,
  type AgentEventName,
  type AgentEventOf,
  type AgentEvents,
  EventBus,
} from './core/event-bus.ts';
export { type Exposure, isExposed, mayCall, type ToolCaller } from './core/exposure.ts';
export { describeQuestion, describeRule } from './core/permission.ts';
export type {
  AgentFace,
  AlwaysRule,
  Approval,
  Approve,
  AskCaller,
  InboundCall,
  Labeller,
  Origin,
  PlannedStep,
  ToolFate,
  ToolOutcome,
  ToolRequest,
  ToolSource,
  TurnOptions,
  TurnResult,
  Verdict,
  Verifier,
  Workspace,
} from './core/seams.ts';
export type { SessionSummary } from './core/sessions.ts';
export {
  listSlashCommands,
  parseSlashCommand,
  type SlashCommand,
} from './core/slash-commands.ts';
export { type DecisionReport, verifyDecisions } from './decision-log/decision-record.ts';
export { type AgentOptions, agentStateFolder, openAgent } from './open-agent.ts';
