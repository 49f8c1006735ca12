// Updates of a session as events of a call. The agent's text becomes tokens, what it thinks and plans
// becomes progress, its tools become tool calls. An agent made with Starloom may put a whole event
// into `_meta["io.starloom/event"]`; it is taken as it is.

import type { ToolCallUpdate } from '@agentclientprotocol/sdk';
import {
  type EventBody,
  exceedsDepth,
  type Fields,
  type FinalData,
  toFields,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { readEvent } from '../upstream/read-event.ts';

const EVENT_KEY = 'io.starloom/event';
const MAX_ID = 256;
const MAX_NOTE = 2_000;

export class Translator {
  readonly #tools = new EditorToolCalls();
  readonly #texts: string[] = [];
  #artifacts = 0;
  #ownFinal: FinalData | undefined;

  /** Throws UPSTREAM_ERROR for an event of ours that is malformed. */
  update(value: unknown): readonly EventBody[] {
    const update = toFields(value);
    const carried = toFields(toFields(update._meta)[EVENT_KEY]);
    if (typeof carried.type === 'string') return this.#takeCarried(carried.type, carried.data);
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#message(toFields(update.content));
      case 'agent_thought_chunk':
        return note(toFields(update.content).text);
      case 'tool_call':
      case 'tool_call_update':
        return this.#tools.take(update);
      case 'plan':
        return toPlan(update.entries);
      case 'notice':
        return note(update.message);
      case 'compaction_update':
        return note('The agent shortens the conversation');
      default:
        return [];
    }
  }

  /** Some agents announce a tool call only when they ask for permission. */
  permission(toolCall: ToolCallUpdate): readonly EventBody[] {
    return this.#tools.begin({ ...toolCall });
  }

  /** What the agent left open, then the answer. */
  end(): readonly EventBody[] {
    const answer = this.#texts.join('');
    const own = this.#ownFinal;
    const data = own ? { ...own, answer: own.answer === '' ? answer : own.answer } : { answer };
    return [...this.#tools.end(), { type: 'final', data }];
  }

  /** What was said so far. */
  get text(): string {
    return this.#texts.join('');
  }

  #takeCarried(type: string, data: unknown): readonly EventBody[] {
    const body = readEvent(type, data);
    if (body?.type === 'final') this.#ownFinal = body.data;
    if (body?.type === 'token') this.#texts.push(body.data.text);
    return body === undefined || body.type === 'final' ? [] : [body];
  }

  #message(content: Fields): readonly EventBody[] {
    if (content.type === 'text') {
      if (typeof content.text !== 'string' || content.text === '') return [];
      this.#texts.push(content.text);
      return [{ type: 'token', data: { text: content.text } }];
    }
    const artifact = ARTIFACT_TYPES.has(content.type) ? this.#artifact(content) : undefined;
    const body = artifact && readEvent('artifact', artifact);
    return body ? [body] : [];
  }

  #artifact(content: Fields): Fields {
    this.#artifacts += 1;
    const id = `artifact-${this.#artifacts}`;
    const inner = content.type === 'resource' ? toFields(content.resource) : content;
    const uri = typeof inner.uri === 'string' && inner.uri !== '' ? inner.uri : undefined;
    const text = content.type === 'resource' ? inner.text : undefined;
    const data = inner.blob ?? inner.data;
    return {
      id: uri?.slice(0, MAX_ID) ?? id,
      name: inner.name ?? uri?.split('/').at(-1) ?? null,
      media_type: inner.mimeType ?? (text === undefined ? BYTES : 'text/plain'),
      ...(typeof text === 'string' ? { text } : data ? { data } : { uri: uri ?? null }),
      last: true,
    };
  }
}

const ARTIFACT_TYPES = new Set<unknown>(['image', 'audio', 'resource', 'resource_link']);
const BYTES = 'application/octet-stream';

/** How far the agent is, by the entries of its plan that are done. */
function toPlan(value: unknown): readonly EventBody[] {
  const entries = Array.isArray(value) ? value.map(toFields) : [];
  if (entries.length === 0) return [];
  const done = entries.filter(({ status }) => status === 'completed').length;
  const current = entries.find(({ status }) => status === 'in_progress');
  const message = cleanText(current?.content, MAX_NOTE);
  return [
    {
      type: 'progress',
      data: { percent: (100 * done) / entries.length, ...(message && { message }) },
    },
  ];
}

function note(text: unknown): readonly EventBody[] {
  const message = typeof text === 'string' ? text : '';
  return message === '' ? [] : [{ type: 'progress', data: { message } }];
}

interface ToolCallState {
  readonly id: string;
  name: string;
  args: unknown;
  content: unknown;
  output: unknown;
  phase: 'announced' | 'begun' | 'ended';
}

/** Of one turn; what is beyond is passed over. */
const MAX_CALLS = 10_000;
const MAX_NAME = 200;

/**
 * The tools an agent uses in one turn. It announces a call, often before it knows the arguments,
 * and updates it piece by piece; ours begins once and ends once.
 */
class EditorToolCalls {
  readonly #calls = new Map<string, ToolCallState>();

  /** An announcement or an update, whichever comes first. */
  take(update: Fields): readonly EventBody[] {
    const call = this.#merge(update);
    if (!call) return [];
    const { status } = update;
    if (status === 'completed' || status === 'failed') return this.#finish(call, status);
    if (status === 'in_progress' || hasArguments(call)) return start(call);
    return [];
  }

  /** The call is about to be made, whatever is known of it. */
  begin(update: Fields): readonly EventBody[] {
    const call = this.#merge(update);
    return call ? start(call) : [];
  }

  /** Ends what the agent began and never ended. */
  end(): readonly EventBody[] {
    return [...this.#calls.values()].flatMap((call) =>
      call.phase === 'begun' ? [toEvent(call, 'end')] : [],
    );
  }

  #finish(call: ToolCallState, status: 'completed' | 'failed'): readonly EventBody[] {
    if (call.phase === 'ended') return [];
    const events = start(call);
    call.phase = 'ended';
    const output = call.output ?? textOf(call.content);
    const result = status === 'failed' ? { failed: true, output } : output;
    return [...events, toEvent(call, 'end', result)];
  }

  #merge(update: Fields): ToolCallState | undefined {
    const { toolCallId, title, kind, rawInput, rawOutput, content } = update;
    if (typeof toolCallId !== 'string' || toolCallId === '' || exceedsDepth(update)) {
      return undefined;
    }
    const known = this.#calls.get(toolCallId);
    if (!known && this.#calls.size >= MAX_CALLS) return undefined;
    const name = [update.name, known?.name, title, kind, 'tool'].find(isName) ?? 'tool';
    const call: ToolCallState = known ?? {
      id: toolCallId,
      name,
      args: undefined,
      content: undefined,
      output: undefined,
      phase: 'announced',
    };
    call.name = name.slice(0, MAX_NAME);
    call.args = rawInput ?? call.args;
    call.output = rawOutput ?? call.output;
    call.content = content ?? call.content;
    this.#calls.set(toolCallId, call);
    return call;
  }
}

function start(call: ToolCallState): readonly EventBody[] {
  if (call.phase !== 'announced') return [];
  call.phase = 'begun';
  return [toEvent(call, 'start')];
}

function toEvent(
  { id, name, args = {} }: ToolCallState,
  phase: 'start' | 'end',
  result?: unknown,
): EventBody {
  const data = { id, name, args, phase, ...(result !== undefined && { result }) };
  return { type: 'tool_call', data };
}

function hasArguments({ args }: ToolCallState): boolean {
  return args !== undefined && Object.keys(toFields(args)).length > 0;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** The text of the content when it is nothing else, else the content as it came. */
function textOf(content: unknown): unknown {
  if (!Array.isArray(content) || content.length === 0) return undefined;
  const texts = content.map((part) => toFields(toFields(part).content).text);
  return texts.every((text) => typeof text === 'string') ? texts.join('\n') : content;
}
