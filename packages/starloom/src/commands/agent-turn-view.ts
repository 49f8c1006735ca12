// What happens in a turn, as it happens: the words of the model to stdout, everything else to stderr,
// a tool call folded into one line. On a terminal a line says what is being waited for.

import type { AgentEvent } from '@starloom/runtime';
import type { ContentSegment } from '@starloom/sdk';
import type { Terminal } from '../terminal.ts';
import { describeSegment, describeSegments, toOneLine, toPlainText } from './agent-text.ts';

const WIDTH = 60;
const CLEAR_LINE = '\r\x1b[K';

export class TurnView {
  readonly #terminal: Terminal;
  /** Whether a user looks at it. */
  readonly #isLive: boolean;
  readonly #running = new Map<string, string>();
  #isMidLine = false;
  #hasStatus = false;

  constructor(terminal: Terminal, isLive: boolean) {
    this.#terminal = terminal;
    this.#isLive = isLive;
  }

  show(event: AgentEvent): void {
    switch (event.type) {
      case 'STREAM:TEXT':
        this.#words(event.data.text);
        break;
      case 'STREAM:SEGMENT':
        this.#line(describeSegment(event.data.segment));
        break;
      case 'STREAM:DISCARD':
        this.#note(`… ${event.data.code}: the model is asked again`);
        break;
      case 'STREAM:PROGRESS':
        this.#wait(event.data.message);
        break;
      case 'EXEC:TOOL_CALL':
        if (event.data.origin === 'user') break;
        this.#running.set(event.data.call.id, event.data.call.name);
        this.#wait([...this.#running.values()].join(', '));
        break;
      case 'EXEC:TOOL_RESULT':
        if (!this.#running.delete(event.data.call.id)) break;
        this.#note(foldCall(event.data));
        if (this.#running.size > 0) this.#wait([...this.#running.values()].join(', '));
        break;
      case 'SAFETY:WARNING':
        this.#note(`! ${event.data.message}`);
        break;
      case 'SAFETY:COMPACTED':
        this.#note('… older parts of the conversation were summed up');
        break;
    }
  }

  /** The output of a slash command, which was not streamed. */
  output(segments: readonly ContentSegment[]): void {
    this.#line(describeSegments(segments));
  }

  /** Leaves the cursor at the beginning of a line: for a question, or at the end. */
  settle(): void {
    this.#clearStatus();
    if (this.#isMidLine) this.#terminal.write('\n');
    this.#isMidLine = false;
  }

  #words(given: string): void {
    const text = toPlainText(given);
    if (text === '') return;
    this.#clearStatus();
    this.#terminal.write(text);
    this.#isMidLine = !text.endsWith('\n');
  }

  #line(text: string | undefined): void {
    if (text === undefined) return;
    this.settle();
    this.#terminal.print(text);
  }

  #note(text: string): void {
    this.settle();
    const line = `  ${toPlainText(text)}`;
    this.#terminal.tell(this.#isLive ? `\x1b[2m${line}\x1b[22m` : line);
  }

  #wait(text: string): void {
    if (!this.#isLive) return;
    this.settle();
    this.#terminal.write(`\x1b[2m  … ${toOneLine(text, WIDTH)}\x1b[22m`);
    this.#hasStatus = true;
  }

  #clearStatus(): void {
    if (this.#hasStatus) this.#terminal.write(CLEAR_LINE);
    this.#hasStatus = false;
  }
}

type Result = Extract<AgentEvent, { type: 'EXEC:TOOL_RESULT' }>['data'];

/** `✓ fs:list {"path":"."} · 12 lines · 3 ms`, or why it failed. */
function foldCall({ call, result, ms }: Result): string {
  const name = toOneLine(call.name, WIDTH);
  const args = toOneLine(JSON.stringify(call.args) ?? '', WIDTH);
  const text = describeSegments(result.output);
  if (result.isError) return `✗ ${name} ${args} · ${toOneLine(text, 2 * WIDTH)}`;
  const lines = text.trimEnd().split('\n');
  const [only = ''] = lines;
  const what = lines.length === 1 ? toOneLine(only, WIDTH) : `${lines.length} lines`;
  return `✓ ${name} ${args} · ${what} · ${Math.round(ms)} ms`;
}
