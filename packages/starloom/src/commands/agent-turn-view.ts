// What happens in a turn, as it happens: the words of the model to stdout, everything else to stderr,
// a tool call folded into one line. On a terminal a line says what is being waited for.

import type { AgentEvent } from '@starloom/runtime';
import type { ContentSegment } from '@starloom/sdk';
import type { Terminal } from '../terminal.ts';
import { paint, toOneLine, toPlainText } from '../terminal-text.ts';

const WIDTH = 60;

export class TurnView {
  readonly #terminal: Terminal;
  readonly #isLive: boolean;
  readonly #running = new Map<string, string>();
  #isMidLine = false;

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
    this.#terminal.write(this.#isMidLine ? '\n' : '');
    this.#isMidLine = false;
  }

  #words(given: string): void {
    const text = toPlainText(given);
    if (text === '') return;
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
    this.#terminal.tell(paint('dim', `  ${text}`));
  }

  #wait(text: string): void {
    if (!this.#isLive) return;
    this.settle();
    this.#terminal.showStatus(paint('dim', `  … ${toOneLine(text, WIDTH)}`));
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

interface Refusal {
  readonly tool: string;
  readonly args: unknown;
  readonly rule: string;
  readonly reasons: readonly string[];
  readonly fix: string;
}

export class Refusals {
  readonly refused: Refusal[] = [];

  note(event: AgentEvent): Refusal | undefined {
    if (event.type !== 'SAFETY:DENIED') return undefined;
    const { call, rule, reasons, fix } = event.data;
    const refusal = { tool: call.name, args: call.args, rule, reasons, fix };
    this.refused.push(refusal);
    return refusal;
  }
}

export function describeRefusal({ tool, reasons, fix }: Refusal): string {
  return `refused: ${tool}: ${reasons.join('; ')}\n  fix: ${fix}`;
}

function describeSegment(segment: ContentSegment): string | undefined {
  const { type, text = '', data = '', mimeType = type, name, ui } = segment;
  switch (type) {
    case 'text':
      return text;
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return `[${name === undefined ? '' : `${name}, `}${mimeType}: ${/^https?:/.test(data) ? data : sizeOf(data)}]`;
    case 'ui':
      return JSON.stringify(ui, null, 2) ?? '';
    case 'reasoning':
    case 'tool_call':
    case 'tool_result':
      return undefined;
  }
}

export function describeSegments(segments: readonly ContentSegment[]): string {
  return segments.flatMap((segment) => describeSegment(segment) ?? []).join('\n');
}

function sizeOf(data: string): string {
  const base64 = data.slice(data.indexOf(',') + 1);
  return `${Math.floor((base64.length * 3) / 4)} bytes`;
}
