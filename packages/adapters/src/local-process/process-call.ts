import {
  type CallContext,
  type Envelope,
  FabricError,
  type Log,
  toFields,
  toMandateLine,
  tryParseJson,
} from '@starloom/core';
import { assertJsonLimits, type Excerpt } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { CallEvents } from '../upstream/call-events.ts';
import { readEvent } from '../upstream/read-event.ts';
import { reportedError } from '../upstream/reported-error.ts';

interface ProcessCallOptions {
  readonly spanId: string;
  readonly maxBytes: number;
  readonly excerpt: Excerpt;
  readonly log: Log;
}

/** One call at a process: turns the lines that belong to it into its events. */
export class ProcessCall {
  readonly spanId: string;
  readonly events: CallEvents;
  readonly #options: ProcessCallOptions;

  constructor(options: ProcessCallOptions) {
    this.spanId = options.spanId;
    this.events = new CallEvents(options.maxBytes);
    this.#options = options;
  }

  take(line: AgentLine, bytes: number): void {
    const { excerpt, log } = this.#options;
    try {
      this.events.count(bytes);
      if (line.type === 'error') throw reportedError(line.error, excerpt);
      const body = readEvent(line.type, line.data);
      if (body !== undefined) this.events.push(body, bytes);
      else log.debug({ type: excerpt(line.type) }, 'an event of the agent is passed over');
    } catch (error) {
      this.events.fail(FabricError.from(error));
    }
  }
}

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
  const value = tryParseJson(text);
  if (typeof value === 'object' && value !== null) return value;
  throw failure('invalid_json/line');
}
