export { Agent, type AgentParts } from './agent.ts';
export {
  type AgentConfig,
  type AgentFile,
  type AgentFileInput,
  type AgentToml,
  type AgentTomlInput,
  agentFileSchema,
  agentTomlSchema,
  type GivenConfig,
  loadAgentConfig,
  parseAgentConfig,
} from './config/index.ts';
export type { AgentEvent, AgentEventName, AgentEventOf, AgentEvents } from './core/event-bus.ts';
export { EventBus, type EventMatching, type EventPattern } from './core/event-bus.ts';
export { isExposed } from './core/permission.ts';
export { DEFAULT_RETRY, type RetryRules } from './core/retry.ts';
export type {
  AgentFace,
  Approval,
  Approve,
  InboundCall,
  Labeller,
  Origin,
  ToolFate,
  ToolOutcome,
  ToolRequest,
  ToolSource,
  TurnOptions,
  TurnResult,
  Verdict,
  Verifier,
} from './core/seams.ts';
export type { SessionSummary } from './core/sessions.ts';
export {
  formatSlashCommand,
  listSlashCommands,
  parseSlashCommand,
  type SlashCommand,
} from './core/slash-commands.ts';
export { type AgentOptions, agentStateFolder, openAgent } from './open-agent.ts';
export { type DecisionReport, verifyDecisions } from './trust/decision-record.ts';
