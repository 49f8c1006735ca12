// The lines of the local-process contract: `{"envelope": …}` and `{"cancel": …}` in, events out.

import {
  type CallContext,
  type Envelope,
  FabricError,
  toFields,
  toMandateLine,
} from '@starloom/core';
import { assertJsonLimits } from '@starloom/wire';

/** A line of the agent, as far as it can be read; the event in it is not checked yet. */
export interface AgentLine {
  /** Empty when the line does not say. */
  readonly type: string;
  /** Which call it belongs to, when the line says so. */
  readonly spanId: string | undefined;
  readonly data: unknown;
  readonly error: unknown;
}

export function toEnvelopeLine(
  envelope: Envelope,
  context: Pick<CallContext, 'mandate'> = {},
): string {
  return `${JSON.stringify({ envelope, ...toMandateLine(context) })}\n`;
}

export function toCancelLine(spanId: string): string {
  return `${JSON.stringify({ cancel: spanId })}\n`;
}

/** `undefined` for a blank line; UPSTREAM_ERROR for one that is no JSON object. */
export function parseLine(text: string): AgentLine | undefined {
  if (text.trim() === '') return undefined;
  const { type, span_id, data, error } = toFields(parseObject(text));
  return {
    type: typeof type === 'string' ? type : '',
    spanId: typeof span_id === 'string' ? span_id : undefined,
    data,
    error,
  };
}

/** Whether the agent has nothing more to say on the call. */
export function isLast({ type }: AgentLine): boolean {
  return type === 'final' || type === 'error';
}

function parseObject(text: string): unknown {
  assertJsonLimits(text);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // The parser's own error quotes the line, so it is not kept as the cause.
  }
  throw new FabricError('UPSTREAM_ERROR', 'The agent wrote a line that is no JSON object', {
    details: {
      reason: 'invalid_json',
      fix: 'write one JSON object per line to stdout, and logs to stderr',
    },
  });
}
