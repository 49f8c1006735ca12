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
import { ToolCalls } from '../upstream/tool-calls.ts';

const EVENT_KEY = 'io.starloom/event';
const MAX_ID = 256;
const MAX_NOTE = 2_000;
const MAX_NAME = 200;

interface ToolOutput {
  readonly output: unknown;
  readonly content: unknown;
}

export class Translator {
  readonly #calls = new ToolCalls();
  /** What came of tools, as far as the agent said. */
  readonly #outputs = new Map<string, ToolOutput>();
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
        return this.#tool(update);
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
    const call = this.#addTool({ ...toolCall });
    return call ? [...this.#calls.start(call.id)] : [];
  }

  /** What the agent left open, then the answer. */
  end(): readonly EventBody[] {
    const answer = this.#texts.join('');
    const own = this.#ownFinal;
    const data = own ? { ...own, answer: own.answer === '' ? answer : own.answer } : { answer };
    return [...this.#calls.endAll(), { type: 'final', data }];
  }

  /** What was said so far. */
  get text(): string {
    return this.#texts.join('');
  }

  /**
   * An announcement or an update of a tool call, whichever comes first. Agents announce calls before
   * they know the arguments, and update them piece by piece.
   */
  #tool(update: Fields): readonly EventBody[] {
    const { status } = update;
    const call = this.#addTool(update);
    if (!call) return [];
    const { output, content } = this.#outputs.get(call.id) ?? {};
    const result = output ?? textOf(content);
    if (status === 'completed') return [...this.#calls.end(call.id, result)];
    if (status === 'failed') return [...this.#calls.end(call.id, { failed: true, output: result })];
    const hasArguments = Object.keys(toFields(call.args)).length > 0;
    return status === 'in_progress' || hasArguments ? [...this.#calls.start(call.id)] : [];
  }

  #addTool(update: Fields) {
    const { toolCallId: id, title, kind, rawInput: args, rawOutput, content } = update;
    if (typeof id !== 'string' || id === '' || exceedsDepth(update)) return undefined;
    const names = this.#calls.has(id) ? [update.name] : [update.name, title, kind];
    const name = names.find((each) => typeof each === 'string' && each !== '');
    const call = this.#calls.add(id, { id, name: String(name ?? '').slice(0, MAX_NAME), args });
    if (!call) return undefined;
    const { output, content: before } = this.#outputs.get(id) ?? {};
    this.#outputs.set(id, { output: rawOutput ?? output, content: content ?? before });
    return call;
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

/** The text of the content when it is nothing else, else the content as it came. */
function textOf(content: unknown): unknown {
  if (!Array.isArray(content) || content.length === 0) return undefined;
  const texts = content.map((part) => toFields(toFields(part).content).text);
  return texts.every((text) => typeof text === 'string') ? texts.join('\n') : content;
}
