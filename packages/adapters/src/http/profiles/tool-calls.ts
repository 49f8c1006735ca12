// Tool calls of agents whose protocols send them in pieces: the arguments as JSON text, bit by bit.

import type { EventBody } from '@starloom/core';
import { parseOrText, readEvent } from '../../upstream/read-event.ts';

interface PendingCall {
  id: string;
  name: string;
  text: string;
  isStarted: boolean;
  isEnded: boolean;
}

/** More are not kept; a model that asks for so many is not asking for tools. */
const MAX_CALLS = 10_000;

export class ChatToolCalls {
  readonly #calls = new Map<string, PendingCall>();

  /** A piece of the call under `key`, an id or an index. */
  add(key: string, piece: { id?: unknown; name?: unknown; arguments?: unknown }): void {
    const call = this.#open(key);
    if (call === undefined) return;
    if (typeof piece.id === 'string' && piece.id !== '') call.id = piece.id;
    if (typeof piece.name === 'string' && piece.name !== '') call.name = piece.name;
    if (typeof piece.arguments === 'string') call.text += piece.arguments;
    else if (piece.arguments !== undefined && piece.arguments !== null) {
      call.text = JSON.stringify(piece.arguments);
    }
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
    if (!call || call.isStarted) return;
    call.isStarted = true;
    const { id, name, text } = call;
    yield readEvent('tool_call', { id, name, args: parseArguments(text), phase: 'start' });
  }

  /** The result of the call under `key`; results of calls that are unknown are passed over. */
  *end(key: string, result: unknown): Generator<EventBody, void, undefined> {
    yield* this.start(key);
    const call = this.#calls.get(key);
    if (!call || call.isEnded) return;
    call.isEnded = true;
    const { id, name, text } = call;
    yield readEvent('tool_call', { id, name, args: parseArguments(text), phase: 'end', result });
  }

  /** All that were not announced yet. */
  *startAll(): Generator<EventBody, void, undefined> {
    for (const key of this.#calls.keys()) yield* this.start(key);
  }

  /** For an answer that asks the caller to run them. */
  toData(): readonly object[] {
    return [...this.#calls.values()].map(({ id, name, text }) => {
      return { id, name, arguments: parseArguments(text) };
    });
  }

  #open(key: string): PendingCall | undefined {
    const known = this.#calls.get(key);
    if (known || this.#calls.size >= MAX_CALLS) return known;
    const number = this.#calls.size + 1;
    const call = { id: `call-${number}`, name: 'tool', text: '', isStarted: false, isEnded: false };
    this.#calls.set(key, call);
    return call;
  }
}

function parseArguments(text: string): unknown {
  return text.trim() === '' ? {} : parseOrText(text);
}
