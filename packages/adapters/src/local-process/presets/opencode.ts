import { type EventBody, toFields } from '@starloom/core';
import type { Fields } from '../presets.ts';
import { isSessionId } from '../session-id.ts';
import { PresetReader, token, toolEnd, toolStart } from './reader.ts';

/** `opencode run --format json`: whole parts, and the end of the program is the end of the answer. */
export class OpencodeReader extends PresetReader {
  protected *take(line: Fields): Generator<EventBody> {
    if (isSessionId(line.sessionID)) this.sessionId = line.sessionID;
    const part = toFields(line.part);
    switch (line.type) {
      case 'text':
        this.hasAnswer = true;
        if (typeof part.text === 'string') this.answer += part.text;
        yield* token(part.text);
        return;
      case 'tool_use':
        yield* toTool(part);
        return;
      case 'step_finish':
        this.hasAnswer = true;
        return;
      case 'error':
        this.failed(line.error, toFields(toFields(line.error).data).statusCode);
        return;
    }
  }
}

/** Reported once, when it is over. */
function* toTool({ callID, tool, state }: Fields): Generator<EventBody> {
  const { status, input, output, error } = toFields(state);
  const result = status === 'completed' ? output : { failed: true, output: error };
  yield* toolStart(callID, tool, input);
  yield* toolEnd(callID, tool, input, result);
}
