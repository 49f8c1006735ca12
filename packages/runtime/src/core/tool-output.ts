// What a tool gave back, as segments fit for a context: of the kinds that are content, bounded in
// size. A tool cannot return calls or thoughts of the model.

import { FabricError } from '@starloom/core';
import {
  AgentPainException,
  type ContentSegment,
  type ContentType,
  type ToolResult,
} from '@starloom/sdk';
import { z } from 'zod';
import { failure } from '../reasons.ts';

const MAX_TEXT_CHARACTERS = 1_048_576;
const MAX_DATA_CHARACTERS = 16_777_216;
const MAX_CONTEXT_CHARACTERS = 65_536;
const MAX_FAILURE_CHARACTERS = 8_192;
const CONTENT = new Set<ContentType>(['text', 'image', 'audio', 'video', 'file', 'ui']);

/** Text, content segments, or anything else as JSON. Throws when it is too large or no JSON. */
export function toSegments(output: unknown): ContentSegment[] {
  if (output === undefined || output === null) return [{ type: 'text', text: '' }];
  if (typeof output === 'string') return [toText(output)];
  if (!isSegments(output)) return [toText(JSON.stringify(output, null, 2))];
  const sizes = output.map(({ data }) => data?.length ?? 0);
  if (sizes.reduce((sum, size) => sum + size, 0) > MAX_DATA_CHARACTERS) {
    throw failure('output_too_large', { limit: MAX_DATA_CHARACTERS });
  }
  return output.map((segment) => shorten(segment, MAX_TEXT_CHARACTERS));
}

/** The same, short enough for a model to read. */
export function forContext(result: ToolResult): ToolResult {
  const output = result.output.map((segment) => shorten(segment, MAX_CONTEXT_CHARACTERS));
  return { ...result, output };
}

/** A failure in words for the model: the tool's own, bounded. */
export function toFailure(tool: string, thrown: unknown): FabricError {
  if (FabricError.is(thrown)) return thrown;
  if (isZodError(thrown)) {
    const problem = z.prettifyError(thrown);
    return failure('arguments', { tool, problem }, { cause: thrown });
  }
  const reason = thrown instanceof AgentPainException ? 'pain' : 'tool_failed';
  const said = thrown instanceof Error ? thrown.message : String(thrown);
  const message = shortenText(said, MAX_FAILURE_CHARACTERS);
  return new FabricError('UPSTREAM_ERROR', message || `The tool ${tool} failed`, {
    details: { ...(thrown instanceof AgentPainException && thrown.details), reason, tool },
    cause: thrown,
  });
}

function isSegments(output: unknown): output is ContentSegment[] {
  return Array.isArray(output) && output.every((entry) => CONTENT.has(entry?.type));
}

export function isZodError(value: unknown): value is z.ZodError {
  return value instanceof Error && 'issues' in value && Array.isArray(value.issues);
}

function toText(text: string): ContentSegment {
  return { type: 'text', text: shortenText(text, MAX_TEXT_CHARACTERS) };
}

function shorten(segment: ContentSegment, limit: number): ContentSegment {
  const { text } = segment;
  if (text === undefined || text.length <= limit) return segment;
  return { ...segment, text: shortenText(text, limit) };
}

/** The beginning and the end, and how much is missing between them. */
function shortenText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  const missing = text.length - 2 * half;
  return `${text.slice(0, half)}\n… ${missing} characters left out …\n${text.slice(-half)}`;
}
