// What a run asks while it awaits, and the answer that resumes it. The protocol has one message each
// way. A part of type `application/schema+json` in the question makes it a form, answered in JSON.

import { type InputRequest, type InputResponse, toFields } from '@starloom/core';
import { cleanText } from '@starloom/wire';
import type { Part, Run } from './protocol.ts';
import { jsonPart, type SentMessage, textPart } from './to-message.ts';

const MAX_MESSAGE = 16_384;
const FORM = 'application/schema+json';

/** The id says how many questions the run asked before: the protocol numbers none. */
export function toQuestion({ await_request }: Run, index: number): InputRequest {
  const parts = await_request?.message?.parts ?? [];
  const text = parts.filter((part) => !isForm(part)).map(({ content }) => content ?? '');
  const message = cleanText(text.join(''), MAX_MESSAGE) || 'The agent waits for input';
  const id = `await-${index}`;
  const schema = schemaIn(parts);
  const native = { await_request };
  return schema
    ? { id, kind: 'form', message, schema, native }
    : { id, kind: 'text', message, native };
}

/** A refusal has no form in the protocol either: the agent reads it as JSON. */
export function toResume(response: InputResponse | undefined): SentMessage {
  const { action = 'cancel', content } = response ?? {};
  if (action !== 'accept') return { role: 'user', parts: [jsonPart({ action })] };
  const { text } = toFields(content);
  const isText = typeof text === 'string' && Object.keys(toFields(content)).length === 1;
  return { role: 'user', parts: [isText ? textPart(text) : jsonPart(content ?? {})] };
}

function isForm({ content_type }: Part): boolean {
  return content_type === FORM;
}

function schemaIn(parts: readonly Part[]): Record<string, unknown> | undefined {
  const text = parts.find(isForm)?.content;
  if (typeof text !== 'string' || text.length > MAX_MESSAGE) return undefined;
  try {
    const schema: unknown = JSON.parse(text);
    const isMap = typeof schema === 'object' && schema !== null && !Array.isArray(schema);
    return isMap ? { ...schema } : undefined;
  } catch {
    return undefined;
  }
}
