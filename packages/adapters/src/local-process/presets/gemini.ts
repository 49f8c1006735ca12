import { type EventBody, toFields } from '@starloom/core';
import type { Fields } from '../presets.ts';
import { note, PresetReader, token, toolEnd, toolStart } from './reader.ts';

/** `gemini --output-format stream-json`. Its sessions cannot be named for later. */
export class GeminiReader extends PresetReader {
  readonly #tools = new Map<unknown, Fields>();

  protected *take(line: Fields): Generator<EventBody> {
    switch (line.type) {
      case 'message':
        if (line.role !== 'assistant') return;
        if (typeof line.content === 'string') this.answer += line.content;
        yield* token(line.content);
        return;
      case 'tool_use':
        this.#tools.set(line.tool_id, line);
        yield* toolStart(line.tool_id, line.tool_name, line.parameters);
        return;
      case 'tool_result':
        yield* this.#end(line);
        return;
      case 'error':
        yield* note(line.message);
        return;
      case 'result':
        this.isDone = true;
        this.hasAnswer = true;
        if (line.status !== 'success') this.failed(line.error, toFields(line.error).code);
        return;
    }
  }

  *#end({ tool_id, status, output, error }: Fields): Generator<EventBody> {
    const tool = this.#tools.get(tool_id);
    if (!tool) return;
    this.#tools.delete(tool_id);
    const result = status === 'success' ? output : { failed: true, output: output ?? error };
    yield* toolEnd(tool_id, tool.tool_name, tool.parameters, result);
  }
}
