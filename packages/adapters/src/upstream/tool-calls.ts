// Tool calls as agents report them: in pieces, and more than once. Each starts once and ends once.

import type { EventBody } from '@starloom/core';
import { parseOrText, readEvent } from './read-event.ts';

interface ReportedCall {
  id: string;
  name: string;
  /** Arguments as JSON text, which may come bit by bit. */
  text: string;
  /** In place of `text`: arguments as they are. */
  args: unknown;
  phase: 'announced' | 'begun' | 'ended';
}

/** Fields that say nothing change nothing. */
interface Piece {
  readonly id?: unknown;
  readonly name?: unknown;
  /** The next piece of their JSON text, or all of them. */
  readonly arguments?: unknown;
  readonly args?: unknown;
}

/** More are not kept; a model that asks for so many is not asking for tools. */
const MAX_CALLS = 10_000;

export class ToolCalls {
  readonly #calls = new Map<string, ReportedCall>();

  /** A piece of the call under `key`, an id or an index; `undefined` when there are too many. */
  add(key: string, piece: Piece): Readonly<ReportedCall> | undefined {
    const call = this.#open(key);
    if (call === undefined) return undefined;
    if (typeof piece.id === 'string' && piece.id !== '') call.id = piece.id;
    if (typeof piece.name === 'string' && piece.name !== '') call.name = piece.name;
    if (typeof piece.arguments === 'string') call.text += piece.arguments;
    else if (piece.arguments !== undefined && piece.arguments !== null) {
      call.text = JSON.stringify(piece.arguments);
    }
    call.args = piece.args ?? call.args;
    return call;
  }

  has(key: string): boolean {
    return this.#calls.has(key);
  }

  get size(): number {
    return this.#calls.size;
  }

  /** The call under `key` is complete: its start, unless it was announced. */
  *start(key: string): Generator<EventBody, void, undefined> {
    const call = this.#calls.get(key);
    if (call?.phase !== 'announced') return;
    call.phase = 'begun';
    yield toEvent(call, { phase: 'start' });
  }

  /** The result of the call under `key`; results of calls that are unknown are passed over. */
  *end(key: string, result: unknown): Generator<EventBody, void, undefined> {
    yield* this.start(key);
    const call = this.#calls.get(key);
    if (call?.phase !== 'begun') return;
    call.phase = 'ended';
    yield toEvent(call, { phase: 'end', ...(result !== undefined && { result }) });
  }

  /** All that were not announced yet. */
  *startAll(): Generator<EventBody, void, undefined> {
    for (const key of this.#calls.keys()) yield* this.start(key);
  }

  /** All that began and did not end. */
  *endAll(): Generator<EventBody, void, undefined> {
    for (const [key, { phase }] of this.#calls) {
      if (phase === 'begun') yield* this.end(key, undefined);
    }
  }

  /** For an answer that asks the caller to run them. */
  toData(): readonly object[] {
    return Array.from(this.#calls.values(), (call) => {
      return { id: call.id, name: call.name, arguments: argumentsOf(call) };
    });
  }

  #open(key: string): ReportedCall | undefined {
    const known = this.#calls.get(key);
    if (known || this.#calls.size >= MAX_CALLS) return known;
    const id = `call-${this.#calls.size + 1}`;
    const call: ReportedCall = { id, name: 'tool', text: '', args: undefined, phase: 'announced' };
    this.#calls.set(key, call);
    return call;
  }
}

function toEvent(call: ReportedCall, more: object): EventBody {
  return readEvent('tool_call', {
    id: call.id,
    name: call.name,
    args: argumentsOf(call),
    ...more,
  });
}

function argumentsOf({ text, args }: ReportedCall): unknown {
  return args ?? (text.trim() === '' ? {} : parseOrText(text));
}
