import { type EventBody, toFields } from '@starloom/core';
import type { Fields } from '../presets.ts';
import { isSessionId } from '../session-id.ts';
import { note, PresetReader, token, toolEnd, toolStart } from './reader.ts';

/** `codex exec --json`. */
export class CodexReader extends PresetReader {
  protected *take(line: Fields): Generator<EventBody> {
    const item = toFields(line.item);
    switch (line.type) {
      case 'thread.started':
        if (isSessionId(line.thread_id)) this.sessionId = line.thread_id;
        return;
      case 'item.started':
        if (isTool(item)) yield* toolStart(item.id, item.type, inputOf(item));
        return;
      case 'item.completed':
        yield* this.#completed(item);
        return;
      case 'error':
        yield* note(line.message);
        return;
      case 'turn.completed':
        this.isDone = true;
        this.hasAnswer = true;
        return;
      case 'turn.failed':
        this.isDone = true;
        this.failed(line.error);
        return;
    }
  }

  /** The last message is the answer. An error among the items may be a mere warning. */
  *#completed(item: Fields): Generator<EventBody> {
    if (item.type === 'agent_message') {
      if (typeof item.text === 'string') this.answer = item.text;
      yield* token(item.text);
    } else if (item.type === 'reasoning' || item.type === 'error') {
      yield* note(item.text ?? item.message);
    } else if (isTool(item)) {
      const { aggregated_output, exit_code, result, changes, status } = item;
      const output = aggregated_output ?? result ?? changes;
      const failed = status === 'failed' || (typeof exit_code === 'number' && exit_code !== 0);
      const ended = failed ? { failed: true, output } : output;
      yield* toolEnd(item.id, item.type, inputOf(item), ended);
    }
  }
}

const WORDS = new Set<unknown>(['agent_message', 'reasoning', 'error', 'todo_list']);

function isTool({ type }: Fields): boolean {
  return typeof type === 'string' && !WORDS.has(type);
}

/** What it was called with, without what came of it. */
function inputOf({ command, query, server, tool, arguments: given, changes }: Fields): Fields {
  const fields = { command, query, server, tool, arguments: given, changes };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
