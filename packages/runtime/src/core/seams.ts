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
  ITool,
  ProviderResponse,
  ToolCall,
  ToolResult,
  Trust,
  Usage,
} from '@starloom/sdk';
import type { AgentEvent } from './event-bus.ts';

/** Who wants a tool called: a person by slash command, the model, or another agent. */
export type Origin = 'user' | 'model' | 'remote';

/** A tool call on its way through the one path. */
export interface ToolRequest {
  readonly call: Required<ToolCall>;
  readonly origin: Origin;
  readonly sessionId: string;
  readonly trace: Trace;
  /** Of the call or turn that is being served; a tool that calls out adds one. */
  readonly hop: Hop;
  /** With which the agent may call on for its caller. No model sees it, and no log. */
  readonly mandate?: string | undefined;
  readonly signal: AbortSignal;
  /** Stops the clock of the turn while a person is asked. */
  readonly pause?: () => Disposable;
  /** The context the call came from, the system prompt first. */
  readonly blocks: readonly Block[];
}

export interface Verdict {
  readonly decision: 'allow' | 'ask' | 'deny';
  readonly reasons: readonly string[];
  /** Name of the rule that decided. */
  readonly rule: string;
  /** How the call could be allowed, as an imperative. */
  readonly fix?: string;
}

export type ToolFate = 'executed' | 'denied' | 'failed';

/** Runs before every tool call, whatever its origin. */
export interface Verifier {
  verify(request: ToolRequest, tool: ITool): Promise<Verdict> | Verdict;
  /** A person said yes to a call that `verdict` asked about. */
  approved?(request: ToolRequest, tool: ITool, verdict: Verdict): void;
  /** Once for each verified call, when it is known what became of it. Must not throw. */
  record(request: ToolRequest, tool: ITool, verdict: Verdict, outcome: ToolFate): void;
}

/** `always`: this call, and every later one of the tool. */
export type Approval = boolean | 'always';

/** Asks a person. */
export type Approve = (request: ToolRequest, tool: ITool, verdict: Verdict) => Promise<Approval>;

/** Makes every block there is, with trust, type, source and lineage. */
export interface Labeller {
  ofUser(segments: readonly ContentSegment[], userTrust: Trust): Block;
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

export interface TurnOptions {
  /** A session goes on under its id; without one a new one begins. */
  readonly sessionId?: string;
  readonly signal?: AbortSignal;
  /** Everything that happens in this turn, as it happens. */
  readonly onEvent?: (event: AgentEvent) => void;
  /** `remote`: the words are another agent's, and untrusted. Default `user`. */
  readonly origin?: 'user' | 'remote';
  /** Who it is when `remote`, such as `agent:percy`. */
  readonly source?: string;
  /** Of the call that this turn serves. */
  readonly trace?: Trace;
  readonly hop?: Hop;
  readonly mandate?: string | undefined;
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
export interface AgentFace {
  readonly name: string;
  readonly version: string;
  turn(input: string | readonly ContentSegment[], options?: TurnOptions): Promise<TurnResult>;
  /** Never throws for a call that went wrong: that is an outcome. */
  callTool(request: InboundCall): Promise<ToolOutcome>;
  tools(): ReadonlyMap<string, ITool>;
  onToolsChanged(listener: () => void): () => void;
}
