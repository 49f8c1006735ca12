// One prompt as its editor follows it: updates in the order in which things happened, and why it ended.

import { resolve } from 'node:path';
import {
  type AgentContext,
  methods,
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
import { toContentBlock } from './content.ts';

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
  #finish: FinishReason | undefined;
  /** Resolves when all updates have left. */
  #sent: Promise<void> = Promise.resolve();

  constructor(client: AgentContext, sessionId: string, view: ToolView) {
    this.#client = client;
    this.#sessionId = sessionId;
    this.#view = view;
  }

  readonly note = (event: AgentEvent): void => {
    if (event.type === 'STREAM:STEP') this.#finish = event.data.metadata.finishReason;
    this.send(toUpdate(event, this.#view));
  };

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

/** What is needed to describe a tool call. */
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
    case 'EXEC:TOOL_RESULT':
      return toResultUpdate(event.data.result);
    default:
      return undefined;
  }
}

/** Words or pictures of the agent. */
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

function toResultUpdate({ id, output, isError }: ToolResult): SessionUpdate {
  const content = output.flatMap((segment): ToolCallContent[] => {
    const block = toContentBlock(segment);
    return block ? [{ type: 'content', content: block }] : [];
  });
  const status = isError ? 'failed' : 'completed';
  return { sessionUpdate: 'tool_call_update', toolCallId: id, status, content };
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
