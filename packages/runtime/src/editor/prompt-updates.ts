// One prompt as its editor follows it: updates in the order in which things happened, and why it ended.

import { resolve } from 'node:path';
import {
  type AgentContext,
  type ContentBlock,
  type EmbeddedResource,
  methods,
  type PlanEntry,
  type SessionUpdate,
  type StopReason,
  type ToolCallContent,
  type ToolCallLocation,
  type ToolKind,
} from '@agentclientprotocol/sdk';
import type { FabricError } from '@starloom/core';
import type {
  Block,
  ContentSegment,
  FinishReason,
  ITool,
  ToolCall,
  ToolResult,
} from '@starloom/sdk';
import type { AgentEvent } from '../core/event-bus.ts';
import { toBlocks } from '../core/media.ts';
import type { Attachment } from '../core/seams.ts';

const STOPPED_BY: Partial<Record<FinishReason, StopReason>> = {
  length: 'max_tokens',
  content_filter: 'refusal',
};
const STOPPED_BY_BUDGET: Readonly<Record<string, StopReason>> = {
  steps: 'max_turn_requests',
  tokens: 'max_tokens',
};

export class PromptUpdates {
  readonly #client: AgentContext;
  readonly #sessionId: string;
  readonly #view: ToolView;
  /** By call: what is shown beside its result. */
  readonly #beside = new Map<string, ToolCallContent[]>();
  #plan: PlanEntry[] = [];
  readonly #done: string[] = [];
  #finish: FinishReason | undefined;
  #sent: Promise<void> = Promise.resolve();

  constructor(client: AgentContext, sessionId: string, view: ToolView) {
    this.#client = client;
    this.#sessionId = sessionId;
    this.#view = view;
  }

  readonly note = (event: AgentEvent): void => {
    if (event.type === 'STREAM:STEP') this.#finish = event.data.metadata.finishReason;
    if (event.type === 'EXEC:EDITED') {
      const { call, path, before: oldText, after: newText } = event.data;
      this.#show(call, { type: 'diff', path, oldText, newText });
    }
    if (event.type === 'EXEC:TERMINAL') {
      const { call, terminal: terminalId } = event.data;
      this.#show(call, { type: 'terminal', terminalId });
    }
    const isResult = event.type === 'EXEC:TOOL_RESULT';
    const update = isResult
      ? toResultUpdate(event.data.result, this.#beside.get(event.data.call.id))
      : toUpdate(event, this.#view);
    if (update?.sessionUpdate === 'plan') {
      const done = (plan: PlanEntry[], tool: string) => withStatus(plan, tool, 'completed');
      this.#plan = this.#done.reduce(done, update.entries);
      this.send({ ...update, entries: this.#plan });
    } else this.send(update);
    this.#advance(event);
  };

  #show(call: string, content: ToolCallContent): void {
    const all = [...(this.#beside.get(call) ?? []), content];
    this.#beside.set(call, all);
    const locations = content.type === 'diff' ? [{ path: content.path }] : undefined;
    const update = { sessionUpdate: 'tool_call_update', toolCallId: call, content: all } as const;
    this.send({ ...update, ...(locations && { locations }) });
  }

  /** A step of the plan is under way while its tool runs, and done when it has run. */
  #advance(event: AgentEvent): void {
    if (event.type === 'EXEC:TOOL_CALL') this.#mark(event.data.call.name, 'in_progress');
    if (event.type !== 'EXEC:TOOL_RESULT') return;
    const { call, code } = event.data;
    if (!code) this.#done.push(call.name);
    this.#mark(call.name, code ? 'pending' : 'completed');
  }

  #mark(tool: string, status: PlanEntry['status']): void {
    const marked = withStatus(this.#plan, tool, status);
    if (marked === this.#plan) return;
    this.#plan = marked;
    this.send({ sessionUpdate: 'plan', entries: marked });
  }

  say(segments: readonly ContentSegment[]): void {
    for (const segment of segments) this.send(toMessageUpdate(segment));
  }

  send(update: SessionUpdate | undefined): void {
    if (!update) return;
    const { update: method } = methods.client.session;
    const sent = this.#client.notify(method, { sessionId: this.#sessionId, update });
    // An editor that is gone is noticed by the connection.
    this.#sent = Promise.all([this.#sent, sent.catch(() => {})]).then(() => {});
  }

  /** Resolves when all updates have left: the answer to the prompt comes after them. */
  async flush(): Promise<void> {
    await this.#sent;
  }

  get stopReason(): StopReason {
    return STOPPED_BY[this.#finish ?? 'stop'] ?? 'end_turn';
  }

  /** Of a turn that ended early in a way that the protocol has a word for. */
  static stoppedBy({ code, details }: FabricError): StopReason | undefined {
    if (code === 'CANCELLED') return 'cancelled';
    if (details.reason !== 'budget') return undefined;
    return STOPPED_BY_BUDGET[String(details.budget)] ?? 'max_turn_requests';
  }
}

export interface ToolView {
  tools(): ReadonlyMap<string, ITool>;
  /** Relative paths begin here. */
  readonly folder: string;
}

/** `undefined` for what an editor does not show. */
function toUpdate(event: AgentEvent, view: ToolView): SessionUpdate | undefined {
  switch (event.type) {
    case 'STREAM:TEXT':
    case 'STREAM:REASONING': {
      const type = event.type === 'STREAM:TEXT' ? 'text' : 'reasoning';
      return toMessageUpdate({ type, text: event.data.text });
    }
    case 'STREAM:SEGMENT':
      return toMessageUpdate(event.data.segment);
    case 'STREAM:DISCARD': {
      // What was shown cannot be taken back.
      const text = `The model is asked again (${event.data.code}): what it said last is void.`;
      return toMessageUpdate({ type: 'reasoning', text });
    }
    case 'EXEC:TOOL_CALL':
      return { ...describeCall(event.data.call, view), status: 'in_progress' };
    case 'STREAM:PROGRESS': {
      const { call, message } = event.data;
      const content = [textContent(message)];
      return { sessionUpdate: 'tool_call_update', toolCallId: call, content };
    }
    case 'SAFETY:PLAN': {
      const entries = event.data.steps.map(({ tool, why }) => ({
        content: why ? `${tool}: ${why}` : tool,
        priority: 'medium' as const,
        status: 'pending' as const,
      }));
      return { sessionUpdate: 'plan', entries };
    }
    default:
      return undefined;
  }
}

function toMessageUpdate(segment: ContentSegment): SessionUpdate | undefined {
  const content = toContentBlock(segment);
  if (!content) return undefined;
  const sessionUpdate =
    segment.type === 'reasoning' ? 'agent_thought_chunk' : 'agent_message_chunk';
  return { sessionUpdate, content };
}

/** What a block of an earlier turn looked like. */
export function replay({ role, segments }: Block, view: ToolView): SessionUpdate[] {
  if (role === 'system') return [];
  return segments.flatMap((segment) => {
    const { toolCall, toolResult } = segment;
    if (toolCall) return describeCall(toolCall, view);
    if (toolResult) return toResultUpdate(toolResult);
    const content = toContentBlock(segment);
    if (role === 'user') return content ? { sessionUpdate: 'user_message_chunk', content } : [];
    return toMessageUpdate(segment) ?? [];
  });
}

export function describeCall({ id = '', name, args }: ToolCall, view: ToolView) {
  return {
    sessionUpdate: 'tool_call' as const,
    toolCallId: id,
    title: titleOf(name, args),
    kind: kindOf(view.tools().get(name), name),
    rawInput: args,
    locations: locationsOf(args, view.folder),
  };
}

export function textContent(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } };
}

function toResultUpdate(
  { id, output, isError }: ToolResult,
  beside: readonly ToolCallContent[] = [],
): SessionUpdate {
  const said = output.flatMap((segment): ToolCallContent[] => {
    const block = toContentBlock(segment);
    return block ? [{ type: 'content', content: block }] : [];
  });
  const status = isError ? 'failed' : 'completed';
  const content = [...beside, ...said];
  return { sessionUpdate: 'tool_call_update', toolCallId: id, status, content };
}

/** The same entries when no step of the tool is open. */
function withStatus(plan: PlanEntry[], tool: string, status: PlanEntry['status']): PlanEntry[] {
  const isOf = ({ content }: PlanEntry) => content === tool || content.startsWith(`${tool}: `);
  const at = plan.findIndex((step) => isOf(step) && step.status !== 'completed');
  const step = plan[at];
  return step && step.status !== status ? plan.with(at, { ...step, status }) : plan;
}

const TITLE_LENGTH = 120;

/** The tool with its first argument that is short: mostly the file or address it is about. */
function titleOf(name: string, args: unknown): string {
  const first = Object.values(Object(args)).find((value) => typeof value === 'string');
  const title = (first === undefined ? name : `${name} ${first}`).replace(/\s+/g, ' ');
  return title.length > TITLE_LENGTH ? `${title.slice(0, TITLE_LENGTH)}…` : title;
}

const KINDS: readonly (readonly [RegExp, ToolKind])[] = [
  [/search|find|grep/, 'search'],
  [/fetch|http|download/, 'fetch'],
  [/read|list|get|show|status|diff|log/, 'read'],
  [/write|edit|patch|append|create|commit/, 'edit'],
  [/delete|remove/, 'delete'],
  [/move|rename/, 'move'],
  [/run|exec|shell/, 'execute'],
];

/** Editors choose a symbol by it; what a tool may do is decided elsewhere. */
function kindOf(tool: ITool | undefined, name: string): ToolKind {
  const found = KINDS.find(([words]) => words.test(name.slice(name.indexOf(':') + 1)));
  return found?.[1] ?? (tool?.effect === 'read' ? 'read' : 'other');
}

function locationsOf(args: unknown, folder: string): ToolCallLocation[] {
  const { path } = Object(args) as { path?: unknown };
  return typeof path === 'string' ? [{ path: resolve(folder, path) }] : [];
}

/** What a person wrote, apart from the words of files that they attached: those are data. */
export function toMessage(prompt: readonly ContentBlock[]) {
  const isText = (block: ContentBlock) => block.type === 'resource' && 'text' in block.resource;
  return {
    segments: prompt.filter((block) => !isText(block)).map(toSegment),
    attachments: prompt.filter(isText).map((block): Attachment => {
      const name = block.type === 'resource' ? block.resource.uri : '';
      return { source: `file:${name.replace(/^file:\/\//, '')}`, segments: [toSegment(block)] };
    }),
  };
}

/** For the editor to show; `undefined` for what is no content, such as a call. */
export function toContentBlock(segment: ContentSegment): ContentBlock | undefined {
  const { type, text = '', name } = segment;
  if (type === 'reasoning') return { type: 'text', text };
  const [block] = toBlocks(segment);
  // Editors know the content blocks of MCP, but show no bytes of a file.
  if (block?.type !== 'resource') return block as ContentBlock | undefined;
  const { mimeType } = block.resource;
  return { type: 'text', text: name === undefined ? `[${mimeType}]` : `[${name}: ${mimeType}]` };
}

function toSegment(block: ContentBlock): ContentSegment {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
    case 'audio':
      return { type: block.type, data: block.data, mimeType: block.mimeType };
    case 'resource_link':
      return { type: 'text', text: `[${block.title ?? block.name}](${block.uri})` };
    case 'resource':
      return fromAttachment(block);
  }
}

/** A file that the person attached: pictures and sounds as such, words between marks. */
function fromAttachment({ resource }: EmbeddedResource): ContentSegment {
  const { uri, mimeType } = resource;
  const of = { ...(mimeType && { mimeType }) };
  if ('text' in resource) {
    return { type: 'text', text: `<file uri=${JSON.stringify(uri)}>\n${resource.text}\n</file>` };
  }
  const kind = mimeType?.split('/', 1)[0];
  if (kind === 'image' || kind === 'audio') return { type: kind, data: resource.blob, ...of };
  return { type: 'text', text: `[${uri} (${mimeType ?? 'binary'}) cannot be read as text]` };
}
