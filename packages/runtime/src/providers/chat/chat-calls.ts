import { randomUUID } from 'node:crypto';
import { type Fields, isObject } from '@starloom/core';
import type { ContentSegment } from '@starloom/sdk';
import { numberOf, parseArguments, textOf } from '../json.ts';
import type { ToolNames } from '../tool-names.ts';
import { METADATA_KEY } from './chat-request.ts';

interface Call {
  readonly index: number | undefined;
  id: string;
  name: string;
  args: string;
  /** Some services give the arguments as an object. */
  given?: unknown;
  extra?: unknown;
}

/**
 * The tool calls of an answer, joined from fragments. A fragment belongs to the call of its index;
 * where services leave the index out, or give all calls the same, a new id begins a new call.
 */
export class ChatCalls {
  readonly #names: ToolNames;
  readonly #calls: Call[] = [];

  constructor(names: ToolNames) {
    this.#names = names;
  }

  push(fragments: unknown): void {
    if (!Array.isArray(fragments)) return;
    for (const fragment of fragments.filter(isObject)) this.#add(fragment);
  }

  segments(): ContentSegment[] {
    return this.#calls
      .filter(({ name }) => name !== '')
      .map(({ id, name, args, given, extra }) => ({
        type: 'tool_call',
        toolCall: {
          id: id === '' ? randomUUID() : id,
          name: this.#names.fromWire(name),
          args: given ?? parseArguments(args),
        },
        ...(extra !== undefined && {
          providerMetadata: { [METADATA_KEY]: { extra_content: extra } },
        }),
      }));
  }

  #add(fragment: Readonly<Fields>): void {
    const tool = isObject(fragment.function) ? fragment.function : {};
    const call = this.#find(fragment, textOf(tool.name)) ?? this.#begin(fragment);
    if (call.id === '') call.id = textOf(fragment.id) ?? '';
    if (call.name === '') call.name = textOf(tool.name) ?? '';
    if (typeof tool.arguments === 'string') call.args += tool.arguments;
    else if (isObject(tool.arguments)) call.given = tool.arguments;
    if (fragment.extra_content !== undefined) call.extra = fragment.extra_content;
  }

  #find(fragment: Readonly<Fields>, name: string | undefined): Call | undefined {
    const index = numberOf(fragment.index);
    const id = textOf(fragment.id) ?? '';
    const call =
      index === undefined
        ? this.#calls.at(-1)
        : this.#calls.findLast((other) => other.index === index);
    if (call === undefined) return undefined;
    const isOther = id !== '' && call.id !== '' && call.id !== id;
    const isNext = index === undefined && id === '' && name !== undefined && name !== '';
    return isOther || isNext ? undefined : call;
  }

  #begin(fragment: Readonly<Fields>): Call {
    const call: Call = { index: numberOf(fragment.index), id: '', name: '', args: '' };
    this.#calls.push(call);
    return call;
  }
}
