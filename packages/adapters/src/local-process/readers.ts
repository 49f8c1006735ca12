// What the readers of all command lines share: the answer as it grows, and how a run failed.

import {
  type EventBody,
  exceedsDepth,
  type Fields,
  statusMeaning,
  TOOL_ERROR,
  toFields,
} from '@starloom/core';
import type { CommandLineFailure } from './presets.ts';

abstract class PresetReader {
  isDone = false;
  hasAnswer = false;
  answer = '';
  failure: CommandLineFailure | undefined;
  sessionId: string | undefined;
  /** Tool calls that began and did not end yet, as they began. */
  readonly #calls = new Map<unknown, StartedTool>();

  *read(line: Fields): Generator<EventBody> {
    if (!exceedsDepth(line)) yield* this.take(line);
  }

  protected abstract take(line: Fields): Iterable<EventBody>;

  protected *begin(id: unknown, name: unknown, args: unknown): Generator<EventBody> {
    this.#calls.set(id, { name, args });
    yield* toolCall('start', id, { name, args });
  }

  /** Results of calls that are unknown are passed over. */
  protected *end(id: unknown, output: unknown, isFailed: boolean): Generator<EventBody> {
    const call = this.#calls.get(id);
    if (call && this.#calls.delete(id))
      yield* toolCall('end', id, call, toResult(output, isFailed));
  }

  /** The agent could not do it, and another one may; a status of its model's service counts. */
  protected noteFailure(text: unknown, status?: unknown): void {
    const code =
      typeof status === 'number' && status >= 400 ? statusMeaning(status).code : undefined;
    this.failure = {
      code: code ?? 'UPSTREAM_ERROR',
      reason: 'agent_failed',
      message: 'The agent failed',
      text: toText(text),
    };
  }

  /** The agent itself stopped: its own answer. */
  protected noteStop(text: unknown): void {
    const message = 'The agent stopped before it was done';
    this.failure = { code: 'UPSTREAM_ERROR', reason: TOOL_ERROR, message, text: toText(text) };
  }
}

function token(text: unknown): readonly EventBody[] {
  return typeof text === 'string' && text !== '' ? [{ type: 'token', data: { text } }] : [];
}

function note(message: unknown): readonly EventBody[] {
  return typeof message === 'string' ? [{ type: 'progress', data: { message } }] : [];
}

interface StartedTool {
  readonly name: unknown;
  readonly args: unknown;
}

function toolCall(
  phase: 'start' | 'end',
  id: unknown,
  { name, args }: StartedTool,
  result?: unknown,
): readonly EventBody[] {
  if (typeof id !== 'string' || id === '') return [];
  const data = { id, name: toName(name), args: args ?? {}, phase };
  return [{ type: 'tool_call', data: { ...data, ...(result !== undefined && { result }) } }];
}

function toResult(output: unknown, isFailed: boolean): unknown {
  return isFailed ? { failed: true, output } : output;
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  const { message, data } = toFields(value);
  if (typeof message === 'string') return message;
  return data === undefined ? '' : toText(data);
}

function toName(name: unknown): string {
  return typeof name === 'string' && name !== '' ? name : 'tool';
}

/** `claude -p --output-format stream-json --include-partial-messages`. */
export class ClaudeReader extends PresetReader {
  protected *take(line: Fields): Generator<EventBody> {
    if (isSessionId(line.session_id)) this.sessionId = line.session_id;
    const content = toFields(line.message).content;
    const blocks = Array.isArray(content) ? content.map(toFields) : [];
    switch (line.type) {
      case 'stream_event':
        // What a sub-agent says is no part of the answer.
        if (line.parent_tool_use_id == null) yield* token(textOf(toFields(line.event)));
        return;
      case 'assistant':
        for (const { type, id, name, input } of blocks) {
          if (type === 'tool_use') yield* this.begin(id, name, input);
        }
        return;
      case 'user':
        for (const { type, tool_use_id, content: output, is_error } of blocks) {
          if (type === 'tool_result') yield* this.end(tool_use_id, output, is_error === true);
        }
        return;
      case 'result':
        this.#finish(line);
        return;
    }
  }

  /** An error of its model's service comes with the subtype "success", too. */
  #finish({ subtype, is_error, result, api_error_status }: Fields): void {
    this.isDone = true;
    this.hasAnswer = true;
    if (typeof result === 'string') this.answer = result;
    if (subtype === 'error_max_turns' || subtype === 'error_max_budget_usd') this.noteStop(subtype);
    else if (is_error === true) this.noteFailure(result ?? subtype, api_error_status);
  }
}

function textOf({ type, delta }: Fields): unknown {
  const { type: kind, text } = toFields(delta);
  return type === 'content_block_delta' && kind === 'text_delta' ? text : undefined;
}

/** `codex exec --json`. */
export class CodexReader extends PresetReader {
  protected *take(line: Fields): Generator<EventBody> {
    const item = toFields(line.item);
    switch (line.type) {
      case 'thread.started':
        if (isSessionId(line.thread_id)) this.sessionId = line.thread_id;
        return;
      case 'item.started':
        if (isTool(item)) yield* toolCall('start', item.id, toolOf(item));
        return;
      case 'item.completed':
        return yield* this.#completeItem(item);
      case 'error':
        return yield* note(line.message);
      case 'turn.completed':
        this.isDone = true;
        this.hasAnswer = true;
        return;
      case 'turn.failed':
        this.isDone = true;
        this.noteFailure(line.error);
        return;
    }
  }

  /** The last message is the answer. An error among the items may be a mere warning. */
  *#completeItem(item: Fields): Generator<EventBody> {
    if (item.type === 'agent_message') {
      if (typeof item.text === 'string') this.answer = item.text;
      yield* token(item.text);
    } else if (item.type === 'reasoning' || item.type === 'error') {
      yield* note(item.text ?? item.message);
    } else if (isTool(item)) {
      const { aggregated_output, exit_code, result, changes, status } = item;
      const output = aggregated_output ?? result ?? changes;
      const isFailed = status === 'failed' || (typeof exit_code === 'number' && exit_code !== 0);
      yield* toolCall('end', item.id, toolOf(item), toResult(output, isFailed));
    }
  }
}

const WORDS = new Set<unknown>(['agent_message', 'reasoning', 'error', 'todo_list']);

function isTool({ type }: Fields): boolean {
  return typeof type === 'string' && !WORDS.has(type);
}

/** What was called, and with what, without what came of it. */
function toolOf(item: Fields): StartedTool {
  const { type: name, command, query, server, tool, arguments: given, changes } = item;
  const fields = { command, query, server, tool, arguments: given, changes };
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return { name, args: Object.fromEntries(known) };
}

/** `gemini --output-format stream-json`. Its sessions cannot be named for later. */
export class GeminiReader extends PresetReader {
  protected *take(line: Fields): Generator<EventBody> {
    switch (line.type) {
      case 'message':
        if (line.role !== 'assistant') return;
        if (typeof line.content === 'string') this.answer += line.content;
        return yield* token(line.content);
      case 'tool_use':
        return yield* this.begin(line.tool_id, line.tool_name, line.parameters);
      case 'tool_result':
        return yield* this.end(line.tool_id, line.output ?? line.error, line.status !== 'success');
      case 'error':
        return yield* note(line.message);
      case 'result':
        this.isDone = true;
        this.hasAnswer = true;
        if (line.status !== 'success') this.noteFailure(line.error, toFields(line.error).code);
        return;
    }
  }
}

/** `opencode run --format json`: whole parts, and the end of the program is the end of the answer. */
export class OpencodeReader extends PresetReader {
  protected *take(line: Fields): Generator<EventBody> {
    if (isSessionId(line.sessionID)) this.sessionId = line.sessionID;
    const part = toFields(line.part);
    switch (line.type) {
      case 'text':
        this.hasAnswer = true;
        if (typeof part.text === 'string') this.answer += part.text;
        return yield* token(part.text);
      case 'tool_use':
        return yield* this.#tool(part);
      case 'step_finish':
        this.hasAnswer = true;
        return;
      case 'error':
        this.noteFailure(line.error, toFields(toFields(line.error).data).statusCode);
        return;
    }
  }

  /** Reported once, when it is over. */
  *#tool({ callID, tool, state }: Fields): Generator<EventBody> {
    const { status, input, output, error } = toFields(state);
    const isFailed = status !== 'completed';
    yield* this.begin(callID, tool, input);
    yield* this.end(callID, isFailed ? error : output, isFailed);
  }
}

/** It becomes an argument, and the program itself named it: only what cannot be an option. */
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

export function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && SESSION_ID.test(value);
}
