import type { Writable } from 'node:stream';
import { type ErrorDetails, FabricError, tryParseJson } from '@starloom/core';
import { assertJsonLimits } from './json-limits.ts';
import { type ReadLinesOptions, readLines } from './lines.ts';
import { failure } from './reasons.ts';
import { isOpen, whenDrained } from './when-drained.ts';

/**
 * One JSON value per line of `source`; blank lines are skipped. Fails as `readLines` does, and with
 * UPSTREAM_ERROR on a line that is not JSON. What the line said stays out of the error.
 */
export async function* readNdjson(
  source: AsyncIterable<Uint8Array>,
  options: ReadLinesOptions,
): AsyncGenerator<unknown, void, undefined> {
  let number = 0;
  for await (const line of readLines(source, options)) {
    number += 1;
    const text = number === 1 ? line.replace(/^\uFEFF/, '') : line;
    if (text.trim() !== '') yield parseUpstreamJson(text, { line: number });
  }
}

/**
 * Writes `value` as one line, and resolves when `writable` takes more. Lines are written whole and
 * in the order of the calls, also when the calls do not wait for each other; a line whose wait is
 * aborted may still go out. The owner of the stream listens to its `error` event.
 */
export async function writeNdjson(
  writable: Writable,
  value: unknown,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const line = toLine(value);
  if (signal?.aborted) throw FabricError.from(signal.reason);
  if (!isOpen(writable)) throw closedError(writable.errored);
  if (writable.write(line)) return;
  await whenDrained(writable, { signal, whenClosed: closedError });
}

/** UPSTREAM_ERROR for a text that is not JSON, or costs too much to parse. What it said stays out of the error. */
export function parseUpstreamJson(text: string, details: ErrorDetails = {}): unknown {
  assertJsonLimits(text);
  const value = tryParseJson(text);
  if (value === undefined) throw failure('invalid_json', details);
  return value;
}

function toLine(value: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (cause) {
    throw failure('not_json', {}, { cause });
  }
  if (json !== undefined) return `${json}\n`;
  throw failure('not_json');
}

function closedError(cause: unknown): FabricError {
  return failure('input_closed', {}, { cause });
}
