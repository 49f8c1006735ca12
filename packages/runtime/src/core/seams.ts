// Where the parts of an agent meet: the core calls these, other folders implement them.
//
// What a provider that reads blocks gets (`providers/in-words.ts` puts them into words for the others):
// on the first step of a turn, when the message is words alone and not untrusted, `prompt` is its text
// and `context.blocks` is what came before it. On every other step `prompt` is empty and everything, the
// message included, stands in `context.blocks` in order. Every `tool_call` segment in the blocks is
// followed by a block with the `tool_result` of the same id; results of slash commands stand alone.
//
// What a provider throws: RATE_LIMITED (with `details.retry_after_ms` where it is known), OVERLOADED,
// AGENT_OFFLINE and TIMEOUT are tried again; UPSTREAM_ERROR is when `details.status` is 408 or from
// 500 up; everything else ends the turn.

import type { FabricError, Hop, Trace } from '@starloom/core';
import type {
  Block,
  ContentSegment,
  IAgentContext,
  ITool,
  PluginHost,
  ProviderResponse,
  ToolCall,
  ToolContext,
  ToolResult,
  Trust,
  Usage,
} from '@starloom/sdk';
import type { z } from 'zod';
import type { Agent } from '../agent.ts';
import type { McpServerConfig } from '../config/agent-toml.ts';
import type { ProgramOutput, ProgramRun } from '../plugins/run-program.ts';
import type { plannedSteps } from '../trust/plans.ts';
import type { Budget, TurnBudget } from './budgets.ts';
import type { AgentEvent, Emit } from './event-bus.ts';
import type { ToolCaller } from './exposure.ts';

/** Who wants a tool called: a person by slash command, the model, or another agent. */
export type Origin = 'user' | 'model' | 'remote';

/** A tool call on its way through the one path. */
export interface ToolRequest {
  readonly call: Required<ToolCall>;
  readonly origin: Origin;
  /** Which person it is, when the origin is `user`; default: the operator. */
  readonly caller?: ToolCaller | undefined;
  readonly sessionId: string;
  readonly trace: Trace;
  /** Of the call or turn that is being served; a tool that calls out adds one. */
  readonly hop: Hop;
  /** With which the agent may call on for its caller. No model sees it, and no log. */
  readonly mandate?: string | undefined;
  readonly signal: AbortSignal;
  /** How the model is asked for a plan of the turn; absent outside a turn. */
  readonly planning?: Planning;
  /** Of the turn; absent outside one. */
  readonly budget?: TurnBudget;
  /** Of a helper, or of a turn that may only read: the tools that exist for it; absent: all. */
  readonly allowed?: ReadonlySet<string> | undefined;
  /** Stops the clock of the turn while a person is asked. */
  readonly pause?: () => Disposable;
  /** The context the call came from, the system prompt first. */
  readonly blocks: readonly Block[];
}

/** What a tool of the core sees of the call that runs it, and no plugin. */
export const CALL = Symbol('call');
/** The tool as it is for these arguments: who gets a task decides how far the call reaches. */
export const FOR_CALL = Symbol('for call');

export interface CoreTool extends ITool {
  [FOR_CALL]?(args: Readonly<Record<string, unknown>>): ITool;
}

export interface CoreContext extends ToolContext {
  readonly [CALL]: { readonly request: ToolRequest; readonly emit: Emit };
}

/** A step of the plan of a turn: a tool, and where the targets of its calls will come from. */
export type PlannedStep = z.output<typeof plannedSteps>[number];

export interface Planning {
  /** Asks the model in a context of its own, which holds only this. */
  ask(question: {
    readonly system: string;
    readonly prompt: string;
    readonly tools: ReadonlyMap<string, ITool>;
  }): Promise<readonly ToolCall[]>;
  /** A plan is in force. */
  show(steps: readonly PlannedStep[]): void;
}

export interface Verdict {
  readonly decision: 'allow' | 'ask' | 'deny';
  readonly reasons: readonly string[];
  /** Name of the rule that decided. */
  readonly rule: string;
  /** How the call could be allowed, as an imperative. */
  readonly fix?: string;
  /** Of an ask: what else a yes covers, in words. */
  readonly covers?: string;
  /** Of an ask: what "always" would allow from now on; absent where it is not offered. */
  readonly always?: AlwaysRule;
  /** Of an ask: the steps of the plan, in words. */
  readonly plan?: readonly string[];
}

/** Calls of a tool with these targets; of a call without targets, those without. */
export interface AlwaysRule {
  readonly tool: string;
  readonly targets: Readonly<Record<string, readonly string[]>>;
}

export type ToolFate = 'executed' | 'denied' | 'failed';

/** Runs before every tool call, whatever its origin. */
export interface Verifier {
  verify(request: ToolRequest, tool: ITool): Promise<Verdict> | Verdict;
  /** A person said yes to a call that `verdict` asked about. */
  approved?(request: ToolRequest, tool: ITool, verdict: Verdict): Promise<void> | void;
  /** Once for each verified call, when it is known what became of it. Must not throw. */
  record(request: ToolRequest, tool: ITool, verdict: Verdict, outcome: ToolFate): void;
}

/** `always`: this call, and every later one that `always` of the verdict describes. */
export type Approval = boolean | 'always';

/** Asks a person; `undefined` where none can be asked. */
export type Approve = (
  request: ToolRequest,
  tool: ITool,
  verdict: Verdict,
) => Promise<Approval | undefined>;

/** How a tool asks the caller of its task in words; `undefined` where no one can be asked. */
export type AskCaller = (request: ToolRequest) => ToolContext['ask'];

/** Makes every block there is, with trust, type, source and lineage. */
export interface Labeller {
  /** Default: vetted. */
  ofUser(segments: readonly ContentSegment[], userTrust?: Trust): Block;
  /** Trusted no more than the least trusted of what the model had seen. */
  ofModel(response: ProviderResponse, seen: readonly Block[]): Block;
  /** `seen`: the context of the call; a trusted tool's result is no better than that. */
  ofTool(tool: ITool, result: ToolResult, seen?: readonly Block[]): Block;
  /** A message of another agent; `source` such as `agent:<id>`. */
  ofRemote(segments: readonly ContentSegment[], source: string): Block;
  ofSystem(text: string): Block;
  /** What the core itself has to say about the run. */
  ofObservation(text: string): Block;
}

/** Tools that come and go together: those of a plugin, those of an MCP server. */
export interface ToolSource {
  list(): readonly ITool[];
  /** Returns how to stop listening. */
  onChange(listener: () => void): () => void;
  /** Resolves when its tools are known, or known not to come; absent where they always are. */
  ready?(): Promise<void>;
  close(): Promise<void>;
}

/** What became of one call, at the end of the one path. */
export interface ToolOutcome {
  readonly result: ToolResult;
  /** The result as it enters a context. */
  readonly block: Block;
  /** Why the result is an error. */
  readonly error?: FabricError;
}

/** A call from outside the loop, as a face of the agent (MCP, A2A) hands it in. */
export interface InboundCall {
  readonly call: ToolCall;
  readonly origin: Origin;
  readonly sessionId?: string;
  readonly trace: Trace;
  readonly hop: Hop;
  readonly mandate?: string | undefined;
  readonly signal: AbortSignal;
  readonly onEvent?: (event: AgentEvent) => void;
}

/** Where an editor works. Its files may differ from those on disk: the person has not saved them yet. */
export interface Workspace {
  readonly folder: string;
  /** MCP servers that the editor names. */
  readonly servers?: readonly McpServerConfig[] | undefined;
  readonly editor?: EditorAccess | undefined;
}

/** What an editor does for its agent, as far as it offers to. Paths are absolute. */
export interface EditorAccess {
  readFile?(path: string, context: ToolContext): Promise<string>;
  writeFile?(path: string, text: string, context: ToolContext): Promise<void>;
  /** Runs a program in a terminal that the person sees. */
  run?(program: ProgramRun, context: ToolContext): Promise<ProgramOutput>;
}

/** What a plugin of ours is given beside the rest. */
export interface EditorHost extends PluginHost {
  readonly editor?: EditorAccess | undefined;
}

/** A document that the user handed over: it is data, also where the user wrote it. */
export interface Attachment {
  /** Such as `file:/srv/notes.txt`. */
  readonly source: string;
  readonly segments: readonly ContentSegment[];
}

export interface TurnOptions {
  readonly attachments?: readonly Attachment[];
  /** A session goes on under its id; without one a new one begins. */
  readonly sessionId?: string;
  readonly signal?: AbortSignal;
  /** Everything that happens in this turn, as it happens. */
  readonly onEvent?: (event: AgentEvent) => void;
  /** `remote`: the words are another agent's, and untrusted. Default `user`. */
  readonly origin?: 'user' | 'remote';
  /** Which person it is, when the origin is `user`: decides which tools can be called by name. */
  readonly caller?: ToolCaller | undefined;
  /** Of a caller: narrows the limits of the turn. */
  readonly budget?: Budget | undefined;
  /** Who it is when `remote`, such as `agent:percy`. */
  readonly source?: string;
  /** That this turn answers. */
  readonly task?: IAgentContext['task'];
  /** Of the call that this turn serves. */
  readonly trace?: Trace;
  readonly hop?: Hop;
  readonly mandate?: string | undefined;
  /** The model can read, and has nothing that acts. */
  readonly readOnly?: boolean;
  /** One of `models` of agent.json; else its `provider`. */
  readonly model?: string | undefined;
}

export interface TurnResult {
  /** What is for the reader: the last answer, or the output of a slash command. */
  readonly segments: readonly ContentSegment[];
  /** How often the model was asked. */
  readonly steps: number;
  readonly usage: Required<Pick<Usage, 'inputTokens' | 'outputTokens'>> & Usage;
  readonly trace: Trace;
  readonly sessionId: string;
}

/** What the faces of an agent (MCP server, editors, A2A, a terminal) need of it. */
export type AgentFace = Pick<
  Agent,
  'name' | 'version' | 'turn' | 'callTool' | 'tools' | 'onToolsChanged'
>;
