import { type EventBody, toFields } from '@starloom/core';
import type { Fields } from '../presets.ts';
import { isSessionId } from '../session-id.ts';
import { PresetReader, token, toolEnd, toolStart } from './reader.ts';

/** `claude -p --output-format stream-json --include-partial-messages`. */
export class ClaudeReader extends PresetReader {
  readonly #tools = new Map<unknown, Fields>();

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
        for (const block of blocks) yield* this.#start(block);
        return;
      case 'user':
        for (const block of blocks) yield* this.#end(block);
        return;
      case 'result':
        this.#finish(line);
        return;
    }
  }

  *#start(block: Fields): Generator<EventBody> {
    if (block.type !== 'tool_use') return;
    this.#tools.set(block.id, block);
    yield* toolStart(block.id, block.name, block.input);
  }

  *#end(block: Fields): Generator<EventBody> {
    const tool = this.#tools.get(block.tool_use_id);
    if (block.type !== 'tool_result' || !tool) return;
    this.#tools.delete(block.tool_use_id);
    const result =
      block.is_error === true ? { failed: true, output: block.content } : block.content;
    yield* toolEnd(tool.id, tool.name, tool.input, result);
  }

  /** An error of its model's service comes with the subtype "success", too. */
  #finish({ subtype, is_error, result, api_error_status }: Fields): void {
    this.isDone = true;
    this.hasAnswer = true;
    if (typeof result === 'string') this.answer = result;
    if (subtype === 'error_max_turns' || subtype === 'error_max_budget_usd') this.stopped(subtype);
    else if (is_error === true) this.failed(result ?? subtype, api_error_status);
  }
}

function textOf({ type, delta }: Fields): unknown {
  const { type: kind, text } = toFields(delta);
  return type === 'content_block_delta' && kind === 'text_delta' ? text : undefined;
}
