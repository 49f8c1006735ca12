// What plugin authors write against, by the names of the standard protocol. The first fields of each
// type are the protocol's; what is ours is optional, so that a plugin written after the document alone
// fits as it is.

export type ContentType =
  | 'text'
  | 'image'
  | 'audio'
  | 'video'
  | 'file'
  | 'ui'
  | 'tool_call'
  | 'tool_result'
  | 'reasoning';

/** An agent's intent to act. */
export interface ToolCall {
  /** Matches a call with its result; filled in by the core when a model gives none. */
  id?: string;
  /** Exactly as the tool is registered. */
  name: string;
  args: unknown;
}

/** What came of a tool call. */
export interface ToolResult {
  /** The id of the call. */
  id: string;
  name: string;
  /** What the tool gave back, or why it failed. */
  output: ContentSegment[];
  isError?: boolean;
}

export interface ContentSegment {
  type: ContentType;
  /** For `text` and `reasoning`. */
  text?: string;
  /** For `image`, `audio`, `video` and `file`: base64 or a URL. */
  data?: string;
  /** Of a `file`, such as `report.pdf`. */
  name?: string;
  /** Such as `image/png`. */
  mimeType?: string;
  /** For `tool_call`. */
  toolCall?: ToolCall;
  /** For `tool_result`. */
  toolResult?: ToolResult;
  /** For `ui`: a component for the front end to render. */
  ui?: unknown;
  /** Opaque to the core; must come back to the provider as it was. */
  providerMetadata?: Readonly<Record<string, unknown>>;
}

export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error' | 'other';

export interface ResponseMetadata {
  usage?: Usage;
  latencyMs?: number;
  finishReason?: FinishReason;
  model?: string;
  /** Over A2A the answer is a message alone, without a task to read or follow. */
  reply?: 'message';
  [key: string]: unknown;
}

/** What a model said, in order and mixed: words, pictures, calls. */
export interface ProviderResponse {
  segments: ContentSegment[];
  metadata?: ResponseMetadata;
}

/** One step of a response as it comes. Folding them all gives the response. */
export type ProviderEvent =
  | { type: 'text'; text: string; providerMetadata?: Readonly<Record<string, unknown>> }
  | { type: 'reasoning'; text: string; providerMetadata?: Readonly<Record<string, unknown>> }
  | { type: 'segment'; segment: ContentSegment }
  | { type: 'finish'; metadata: ResponseMetadata };

export interface IProvider {
  name: string;
  /** Answers `prompt`, reading what the agent can do from `context.tools`. */
  generate(prompt: string, context: IAgentContext): Promise<ProviderResponse>;
  /** The same as it comes; the core prefers it where it is there. */
  stream?(prompt: string, context: IAgentContext): AsyncIterable<ProviderEvent>;
  /**
   * It takes the conversation from `context.blocks`, and `prompt` is empty from the second step of a turn
   * on. Otherwise `prompt` holds all of it in words, results of tools included.
   */
  readsBlocks?: boolean;
  /** What it takes beside words; nothing unless it says so. */
  takes?: readonly ('image' | 'audio')[];
}

export type JsonSchema = Readonly<Record<string, unknown>>;

/** `read`: nothing outside the agent changes. */
export type ToolEffect = 'read' | 'act';

export interface ToolContext {
  readonly signal: AbortSignal;
  readonly sessionId: string;
  readonly trace: { readonly trace_id: string; readonly span_id: string };
  readonly hop: { readonly depth: number; readonly chain: readonly string[] };
  /** With which the agent may call on for its caller. No model sees it, and no log. */
  readonly mandate?: string | undefined;
  /** Reports progress to the client. */
  progress(message: string, percent?: number): void;
  /** Asks whose task it is, in words; `undefined` when it gives no answer. Absent where no one can be asked. */
  ask?(question: string): Promise<string | undefined>;
}

/** Text, or segments; anything else is shown as JSON. */
export type ToolOutput = string | ContentSegment[] | Readonly<Record<string, unknown>>;

export interface ITool {
  /** `<plugin>:<tool>`, such as `fs:read_file`. */
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  parameters: JsonSchema;
  execute(args: never, context: ToolContext): Promise<ToolOutput> | ToolOutput;
  /** Slash command without its slash, such as `read`. */
  command?: string;
  /** Else by the first verb of its name; a name that says nothing acts. */
  effect?: ToolEffect;
  /** Arguments that say where an act goes; else by their names and shapes. */
  targets?: readonly string[];
  /** Ask a person before every call. */
  approval?: boolean;
  timeoutMs?: number;
  /** The result is foreign text: files, pages, other agents. True unless it says false. */
  untrusted?: boolean;
  /** Whose words the result is, when not its own: `mcp:<server>`, `agent:<id>`. */
  source?: string;
}

export type Trust = 'trusted' | 'vetted' | 'untrusted';
export type BlockType = 'instruction' | 'data';

/** One piece of what the model sees, with where it came from. */
export interface Block {
  readonly id: string;
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly segments: readonly ContentSegment[];
  readonly trust: Trust;
  readonly type: BlockType;
  /** `user`, `model:<name>`, `tool:<name>`, `mcp:<server>`, `agent:<id>`, `config`. */
  readonly source: string;
  /** Ids of the untrusted blocks that went into it. */
  readonly taintedBy?: readonly string[];
}

/** What the core shows a provider of itself. */
export interface IAgentContext {
  /** What the agent can do, by name. */
  tools: Map<string, ITool>;
  /** The conversation so far, oldest first, without the prompt itself. */
  blocks?: readonly Block[];
  systemPrompt?: string;
  sessionId?: string;
  /** Which message of another agent it answers (A2A); a message that comes again has the same id. */
  task?: { readonly id: string; readonly contextId: string; readonly messageId: string };
  signal?: AbortSignal;
}

/** What a plugin brings. */
export interface PluginParts {
  readonly tools?: readonly ITool[];
  readonly providers?: readonly IProvider[];
  /** Called once when the agent ends. */
  close?(): Promise<void> | void;
}

/** What a plugin is given when it starts. */
export interface PluginHost {
  /** The folder of `agent.json`: relative paths begin here. */
  readonly folder: string;
  /** The folder that an editor works in. A plugin narrows what it may use to it, and never widens it. */
  readonly workspace?: string;
  /** Where what should outlive the agent is kept; not there when nothing is. */
  readonly stateFolder?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  warn(message: string): void;
}

export interface Plugin<Config = unknown> {
  readonly name: string;
  setup(config: Config, host: PluginHost): Promise<PluginParts> | PluginParts;
}

/** A model said what cannot be understood, or cannot go on: the turn ends, and says why. */
export class AgentPainException extends Error {
  override readonly name = 'AgentPainException';
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    options: { details?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.details = options.details ?? {};
  }
}
