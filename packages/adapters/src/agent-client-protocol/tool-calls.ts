// The tools an agent uses in one turn. It announces a call, often before it knows the arguments,
// and updates it piece by piece; ours begins once and ends once.

import { type EventBody, toFields } from '@starloom/core';
import { exceedsDepth } from '../upstream/exceeds-depth.ts';

type Fields = Readonly<Record<string, unknown>>;

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

export class EditorToolCalls {
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
