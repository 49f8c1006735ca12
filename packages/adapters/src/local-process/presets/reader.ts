// What the readers of all command lines share: the answer as it grows, and how a run failed.

import { type EventBody, statusMeaning, TOOL_ERROR, toFields } from '@starloom/core';
import { exceedsDepth } from '../../upstream/exceeds-depth.ts';
import type { CommandLineFailure, Fields } from '../presets.ts';

export abstract class PresetReader {
  isDone = false;
  hasAnswer = false;
  answer = '';
  failure: CommandLineFailure | undefined;
  sessionId: string | undefined;

  *read(line: Fields): Generator<EventBody> {
    if (!exceedsDepth(line)) yield* this.take(line);
  }

  protected abstract take(line: Fields): Iterable<EventBody>;

  /** The agent could not do it, and another one may; a status of its model's service counts. */
  protected failed(text: unknown, status?: unknown): void {
    const code =
      typeof status === 'number' && status >= 400 ? statusMeaning(status).code : undefined;
    this.failure = {
      code: code ?? 'UPSTREAM_ERROR',
      reason: 'agent_failed',
      message: 'The agent failed',
      text: toText(text),
    };
  }

  /** The agent itself stopped: its own answer. */
  protected stopped(text: unknown): void {
    const message = 'The agent stopped before it was done';
    this.failure = { code: 'UPSTREAM_ERROR', reason: TOOL_ERROR, message, text: toText(text) };
  }
}

export function token(text: unknown): readonly EventBody[] {
  return typeof text === 'string' && text !== '' ? [{ type: 'token', data: { text } }] : [];
}

export function note(message: unknown): readonly EventBody[] {
  return typeof message === 'string' ? [{ type: 'progress', data: { message } }] : [];
}

export function toolStart(id: unknown, name: unknown, args: unknown): readonly EventBody[] {
  if (typeof id !== 'string' || id === '') return [];
  const data = { id, name: toName(name), args: args ?? {}, phase: 'start' as const };
  return [{ type: 'tool_call', data }];
}

export function toolEnd(
  id: unknown,
  name: unknown,
  args: unknown,
  result: unknown,
): readonly EventBody[] {
  if (typeof id !== 'string' || id === '') return [];
  const data = { id, name: toName(name), args: args ?? {}, phase: 'end' as const };
  return [{ type: 'tool_call', data: { ...data, ...(result !== undefined && { result }) } }];
}

export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  const { message, data } = toFields(value);
  if (typeof message === 'string') return message;
  return data === undefined ? '' : toText(data);
}

function toName(name: unknown): string {
  return typeof name === 'string' && name !== '' ? name : 'tool';
}
